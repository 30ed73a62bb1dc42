#include "skein/data/graphs/graph_form.h"

#include <algorithm>
#include <map>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/core/strings.h"
#include "skein/data/graphs/graph_samples.h"

#include "graph_columns.h"

namespace skein::data {
namespace {

// Of a store none of whose columns says anything of nodes.
constexpr const char* kOne = "one";

const std::map<std::string, GraphInputKind>& kinds() {
  static const std::map<std::string, GraphInputKind> all{
      {name_of(GraphPart::node_category), GraphInputKind::node_ids},
      {name_of(GraphPart::node_bag), GraphInputKind::node_ids},
      {kColourColumn, GraphInputKind::node_ids},
      {kOne, GraphInputKind::node_ids},
      {name_of(GraphPart::node_number), GraphInputKind::node_numbers},
      {kLaplacianColumn, GraphInputKind::node_numbers},
      {kWalkColumn, GraphInputKind::node_numbers},
      {name_of(GraphPart::link_category), GraphInputKind::link_kinds},
      {name_of(GraphPart::link_number), GraphInputKind::link_numbers},
      {kDistanceColumn, GraphInputKind::distances}};
  return all;
}

bool has_use(GraphInputKind kind, const GraphUses& uses) {
  switch (kind) {
    case GraphInputKind::node_ids:
    case GraphInputKind::node_numbers: return true;
    case GraphInputKind::link_kinds:
    case GraphInputKind::link_numbers: return uses.link_parts;
    case GraphInputKind::distances: return uses.distances;
    case GraphInputKind::other: break;
  }
  return false;
}

}  // namespace

std::vector<std::string> input_columns(const GraphRecords& store, const GraphUses& uses) {
  std::vector<std::string> made;
  for (const Column& column : store.records().columns())
    if (has_use(kind_of_input(column.info.name), uses)) made.push_back(column.info.name);
  return made;
}

namespace {

uint32_t sum_of(std::span<const std::string> names) {
  std::string all;
  for (const std::string& name : names) all += fmt::format("{}:{}", name.size(), name);
  return static_cast<uint32_t>(derive_key(0, all));
}

// Ids of all rounds: those of round r are behind those of the rounds before it.
int64_t colours_of(const GraphRecords& store) {
  uint32_t most = 0;
  for (int64_t record = 0; record < store.count(); ++record)
    for (const uint32_t colour :
         column_whole_numbers(store, kColourColumn, record, store.nodes(record)))
      most = std::max(most, colour);
  require(most < (uint32_t{1} << 24), "{} has colours up to {}; {} is the most",
          store.records().name(), most, (uint32_t{1} << 24) - 1);
  return (int64_t{most} + 1) * width_of_column(store, kColourColumn);
}

uint32_t colour_sum(const GraphRecords& store) {
  const int64_t sum = numbering_of_column(store, kColourColumn);
  require(sum > 0 && sum <= UINT32_MAX,
          "{} does not say what the colours of its nodes ({}) stand for, as `skein-data graphs` of "
          "an older version did not; make it again",
          store.records().name(), kColourColumn);
  return static_cast<uint32_t>(sum);
}

GraphInput input_of(const GraphRecords& store, const std::string& column) {
  if (column == kOne) return {column, 1};
  if (column == kColourColumn) return {column, colours_of(store), colour_sum(store)};
  if (column == kDistanceColumn) return {column, 1};
  const auto names = names_of_column(store, column);
  if (!names.empty()) return {column, std::ssize(names), sum_of(names)};
  return {column, width_of_column(store, column)};
}

void check_wanted(const GraphRecords& store, const std::vector<std::string>& wanted,
                  const GraphUses& uses) {
  for (const std::string& column : wanted) {
    if (column == kOne) continue;
    require(store.column(column).has_value() && kind_of_input(column) != GraphInputKind::other,
            "graph.inputs names \"{}\", which is no input of {}; it has {}", excerpt(column),
            store.records().name(), listed(input_columns(store, {true, true})));
    require(has_use(kind_of_input(column), uses),
            "graph.inputs names \"{}\", of which this model makes nothing; leave it out", column);
  }
}

// What reads distances cannot do without them.
void check_distances(const GraphRecords& store, const std::string& origin) {
  require(store.column(kDistanceColumn).has_value(),
          "{} has no distances of nodes (its column {}), which {} reads; make it again with "
          "`skein-data graphs --graphs.distances=true`",
          store.records().name(), kDistanceColumn, origin);
}

bool says_of_nodes(const std::vector<std::string>& columns) {
  return std::ranges::any_of(
      columns, [](const std::string& column) { return has_use(kind_of_input(column), {}); });
}

}  // namespace

GraphInputKind kind_of_input(const std::string& column) {
  const auto found = kinds().find(column);
  return found == kinds().end() ? GraphInputKind::other : found->second;
}

GraphSizes GraphForm::sizes() const {
  GraphSizes made;
  made.node_numbers = random;
  for (const GraphInput& input : inputs) {
    switch (kind_of_input(input.column)) {
      case GraphInputKind::node_ids: made.node_ids += input.size; break;
      case GraphInputKind::node_numbers: made.node_numbers += input.size; break;
      case GraphInputKind::link_kinds: made.link_kinds += input.size; break;
      case GraphInputKind::link_numbers: made.link_numbers += input.size; break;
      case GraphInputKind::distances:
      case GraphInputKind::other: break;
    }
  }
  return made;
}

GraphForm graph_form(const GraphBlend& blend, const std::vector<std::string>& wanted,
                     const GraphUses& uses) {
  const GraphRecords& first = blend.parts.front();
  std::vector<std::string> columns = wanted.empty() ? input_columns(first, uses) : wanted;
  check_wanted(first, wanted, uses);
  if (uses.distances) {
    check_distances(first, "this model");
    columns.emplace_back(kDistanceColumn);
  }
  std::ranges::sort(columns);
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  if (!says_of_nodes(columns)) columns.emplace_back(kOne);
  GraphForm made;
  for (const std::string& column : columns) made.inputs.push_back(input_of(first, column));
  for (const GraphRecords& part : blend.parts) check_form(part, made, first.records().name());
  return made;
}

void check_form(const GraphRecords& store, const GraphForm& form, const std::string& origin) {
  for (const GraphInput& input : form.inputs) {
    if (input.column == kOne) continue;
    if (input.column == kDistanceColumn) check_distances(store, origin);
    require(store.column(input.column).has_value(), "{} has no {}, which {} reads",
            store.records().name(), input.column, origin);
    const GraphInput own = input_of(store, input.column);
    require(input.column != kColourColumn || own == input,
            "the colours of nodes ({}) of {} stand for other neighbourhoods than those that {} "
            "knows: `skein-data graphs` numbers them in each store; put all graphs into one",
            kColourColumn, store.records().name(), origin);
    constexpr const char* kAdvice = "make it with graphs.vocabulary, the store that is learnt from";
    require(own.size == input.size, "{} has {} of {}, but {} reads {}; {}", store.records().name(),
            own.size, input.column, origin, input.size,
            input.names_sum != 0 ? kAdvice : "make it with as many");
    require(own.names_sum == input.names_sum,
            "the categories of {} have other names in {} than {} knows; {}", input.column,
            store.records().name(), origin, kAdvice);
  }
}

GraphSizes sizes_of(const GraphForm& form, const GraphBlend& blend) {
  GraphSizes made = form.sizes();
  for (const GraphRecords& part : blend.parts)
    for (int64_t record = 0; record < part.count(); ++record)
      made.nodes = std::max(made.nodes, part.nodes(record));
  return made;
}

}  // namespace skein::data
