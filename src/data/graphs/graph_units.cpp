#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/graphs/graph_samples.h"

#include "graph_columns.h"

namespace skein::data {
namespace {

constexpr const char* kFoldName = "fold ";

GraphPart label_part(bool of_nodes) { return of_nodes ? GraphPart::node_label : GraphPart::label; }

// A store's split of graphs or nodes.
class Split {
 public:
  Split(const GraphRecords& store, GraphPart part, const GraphChoice& choice)
      : store_(store), part_(part), choice_(choice), names_(names_of_column(store, name_of(part))) {
    if (!there()) return;
    const bool folds = names_.front().starts_with(kFoldName);
    const std::string name = store.records().name();
    require(choice.use == GraphUse::all || folds || choice.fold == 0,
            "graph.fold={}, but the split of {} is {}; leave it out", choice.fold, name,
            listed({names_.begin(), names_.end()}));
    require(choice.use == GraphUse::all || !folds ||
                (choice.fold >= 1 && choice.fold <= std::ssize(names_)),
            "{} is split in {} folds; say which one is the test by graph.fold=1 to {}, not {}",
            name, names_.size(), names_.size(), choice.fold);
  }
  bool there() const { return !names_.empty(); }
  // Of each row of a record, whether it is meant.
  std::vector<bool> of(int64_t record) const {
    std::vector<bool> made;
    for (const int32_t id : store_.categories(part_, record)) made.push_back(is_meant(id));
    return made;
  }

 private:
  bool is_meant(int32_t id) const {
    if (choice_.use == GraphUse::all) return true;
    if (choice_.fold > 0) {
      const int64_t fold = int64_t{id} + 1, next = choice_.fold % std::ssize(names_) + 1;
      if (choice_.use == GraphUse::test) return fold == choice_.fold;
      return (fold == next) == (choice_.use == GraphUse::validation) && fold != choice_.fold;
    }
    constexpr const char* kNames[] = {"train", "validation", "test"};
    return names_[static_cast<size_t>(id)] == kNames[static_cast<size_t>(choice_.use)];
  }

  const GraphRecords& store_;
  GraphPart part_;
  GraphChoice choice_;
  std::span<const std::string> names_;
};

void check_fold(const GraphRecords& store, const GraphChoice& choice, bool split) {
  require(choice.fold == 0 || choice.use == GraphUse::all || split,
          "graph.fold={}, but {} has no folds; make it with graphs.folds, or leave it out",
          choice.fold, store.records().name());
}

// Of each node or of the graph, whether it has a label.
std::vector<bool> labelled(const GraphRecords& store, bool of_nodes, int64_t record) {
  const GraphPart part = label_part(of_nodes);
  const auto names = names_of_column(store, name_of(part));
  std::vector<bool> made;
  if (names.empty()) {
    made.resize(of_nodes ? store.nodes(record) : 1, true);
    return made;
  }
  const bool gaps = names.back() == kNoCategory;
  for (const int32_t id : store.categories(part, record))
    made.push_back(!gaps || id + 1 < std::ssize(names));
  return made;
}

}  // namespace

std::vector<std::string> classes_of(const GraphRecords& store, bool of_nodes) {
  const char* const column = name_of(label_part(of_nodes));
  require(store.column(column).has_value(), "{} has no labels of {} (its column {})",
          store.records().name(), of_nodes ? "nodes" : "graphs", column);
  const auto names = names_of_column(store, column);
  require(!names.empty() || width_of_column(store, column) == 1,
          "{} has labels of {} numbers each; models learn one", store.records().name(),
          names.empty() ? width_of_column(store, column) : 1);
  std::vector<std::string> made{names.begin(), names.end()};
  if (!made.empty() && made.back() == kNoCategory) made.pop_back();
  return made;
}

namespace {

void add_units(std::vector<GraphUnit>& made, const GraphRecords& store, int part, bool of_nodes,
               const GraphChoice& choice) {
  const Split graphs(store, GraphPart::split, choice), nodes(store, GraphPart::node_split, choice);
  check_fold(store, choice, graphs.there() || (of_nodes && nodes.there()));
  for (int64_t record = 0; record < store.count(); ++record) {
    if (graphs.there() && !graphs.of(record).front()) continue;
    std::vector<bool> meant = choice.unlabelled
                                  ? std::vector<bool>(of_nodes ? store.nodes(record) : 1, true)
                                  : labelled(store, of_nodes, record);
    if (of_nodes && nodes.there()) {
      const std::vector<bool> split = nodes.of(record);
      for (size_t i = 0; i < meant.size(); ++i) meant[i] = meant[i] && split[i];
    }
    GraphUnit unit{part, record};
    for (size_t i = 0; i < meant.size(); ++i)
      if (meant[i]) unit.nodes.push_back(static_cast<int32_t>(i));
    if (!unit.nodes.empty()) made.push_back(std::move(unit));
  }
}

}  // namespace

std::vector<GraphUnit> chosen_units(const GraphBlend& blend, const GraphForm& form,
                                    const GraphChoice& choice) {
  std::vector<GraphUnit> made;
  for (size_t part = 0; part < blend.parts.size(); ++part)
    add_units(made, blend.parts[part], static_cast<int>(part), form.of_nodes, choice);
  return made;
}

bool has_part(const GraphBlend& blend, const GraphForm& form, const GraphChoice& choice) {
  const bool split = std::ranges::any_of(blend.parts, [&](const GraphRecords& part) {
    return part.column(name_of(GraphPart::split)).has_value() ||
           (form.of_nodes && part.column(name_of(GraphPart::node_split)).has_value());
  });
  return split && !chosen_units(blend, form, choice).empty();
}

namespace {

int64_t folds_of(const GraphRecords& store) {
  for (const GraphPart part : {GraphPart::split, GraphPart::node_split}) {
    const auto names = names_of_column(store, name_of(part));
    if (!names.empty() && names.front().starts_with(kFoldName)) return std::ssize(names);
  }
  fail_usage(
      "{} has no folds; make it with graphs.folds=10, or train one run with `skein pretrain`",
      store.records().name());
}

}  // namespace

int64_t fold_count(const GraphBlend& blend) {
  const int64_t first = folds_of(blend.parts.front());
  for (const GraphRecords& store : blend.parts)
    require(folds_of(store) == first,
            "{} is split in {} folds, but {} in {}; make one of them again", store.records().name(),
            folds_of(store), blend.parts.front().records().name(), first);
  return first;
}

}  // namespace skein::data
