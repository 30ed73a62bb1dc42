#include "graph_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strict_json.h"
#include "skein/text/split/utf8.h"

#include "graph_columns.h"

namespace skein::data {
namespace {

constexpr GraphPart kAllParts[] = {
    GraphPart::node_category, GraphPart::node_bag,   GraphPart::node_number,
    GraphPart::node_label,    GraphPart::node_split, GraphPart::link_category,
    GraphPart::link_number,   GraphPart::label,      GraphPart::split};
constexpr size_t kMostNames = size_t{1} << 24;

bool is_label(GraphPart part) { return part == GraphPart::node_label || part == GraphPart::label; }
bool is_split(GraphPart part) { return part == GraphPart::node_split || part == GraphPart::split; }

bool fits_float(double value) {
  return std::isfinite(value) && std::abs(value) <= std::numeric_limits<float>::max();
}

// "6" of 6 and of 6.0.
std::string name_of_number(double value) {
  if (std::trunc(value) == value && std::abs(value) <= 0x1p53)
    return fmt::to_string(static_cast<int64_t>(value));
  return fmt::to_string(value);
}

std::string name_of_json(const nlohmann::json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  require(value.is_number(), "{}: a JSON {} stands where a category or a number belongs", where,
          value.type_name());
  return value.is_number_float() ? name_of_number(value.get<double>()) : value.dump();
}

}  // namespace

NameTable::NameTable(std::span<const std::string> known) : known_(!known.empty()) {
  for (const std::string& name : known) add(name);
}

int32_t NameTable::add(std::string_view name) {
  const auto found = ids_.find(name);
  if (found != ids_.end()) return found->second;
  require(names_.size() < kMostNames, "there are more than {} categories; are they numbers?",
          kMostNames);
  names_.emplace_back(name);
  return ids_.emplace(name, narrow<int32_t>(std::ssize(names_) - 1)).first->second;
}

std::vector<int32_t> NameTable::settle() {
  const auto is_number = [](const std::string& name) {
    return name == kNoCategory || parsed_number<int64_t>(name).has_value();
  };
  const bool numbers = std::ranges::all_of(names_, is_number);
  std::vector<int32_t> order(names_.size());
  std::iota(order.begin(), order.end(), 0);
  if (known_) return order;
  std::ranges::sort(order, [&](int32_t left, int32_t right) {
    const std::string &a = names_[left], &b = names_[right];
    if ((a == kNoCategory) != (b == kNoCategory)) return b == kNoCategory;
    if (!numbers || a == kNoCategory) return a < b;
    return std::pair(*parsed_number<int64_t>(a), a) < std::pair(*parsed_number<int64_t>(b), b);
  });
  std::vector<int32_t> moved(order.size());
  std::vector<std::string> sorted;
  for (const int32_t old : order) {
    moved[old] = narrow<int32_t>(std::ssize(sorted));
    sorted.push_back(names_[old]);
  }
  names_ = std::move(sorted);
  return moved;
}

std::string ReadGraph::where(const Edge& edge) const {
  return edge.line == 0 ? graph.name : fmt::format("{}:{}", edge_file, edge.line);
}

double finite_number(std::string_view text, const std::string& where, const char* what) {
  const auto number = parsed_number<double>(text);
  require(number && fits_float(*number), "{}: {} is \"{}\", not a finite number that f32 holds",
          where, what, excerpt(text));
  return *number;
}

int64_t whole_number(std::string_view text, const std::string& where, const char* what, int64_t low,
                     int64_t high) {
  const auto number = parsed_number<int64_t>(text);
  require(number && *number >= low && *number <= high,
          "{}: {} is \"{}\"; a whole number from {} to {} belongs there", where, what,
          excerpt(text), low, high);
  return *number;
}

GraphBuilder::GraphBuilder(const GraphFilesConfig& config) : config_(config) {
  if (config.vocabulary.empty()) return;
  vocabulary_.emplace(std::make_shared<const Records>(config.vocabulary));
  for (const GraphPart part : kAllParts)
    if (!is_split(part))
      names_[static_cast<size_t>(part)] = NameTable(names_of_column(*vocabulary_, name_of(part)));
}

int32_t GraphBuilder::id(GraphPart part, std::string_view name, const std::string& where) {
  if (name.empty()) return -1;
  require(name != kNoCategory, "{}: {} is the name of what has no category; give it another one",
          where, kNoCategory);
  require(text::valid_utf8(name), "{}: \"{}\" is not valid UTF-8", where, excerpt(name));
  require(!names(part).known() || names(part).has(name),
          "{}: \"{}\" is no {} of graphs.vocabulary={}; give a store of more graphs, which is then "
          "the vocabulary of those to learn, too, or leave it out",
          where, excerpt(name), name_of(part), config_.vocabulary);
  return names_[static_cast<size_t>(part)].add(name);
}

int32_t GraphBuilder::json_id(GraphPart part, const nlohmann::json& value,
                              const std::string& where) {
  return value.is_null() ? -1 : id(part, name_of_json(value, where), where);
}

int32_t GraphBuilder::split_id(const nlohmann::json& value, const std::string& where) {
  if (value.is_null()) return 3;
  const std::string name = value.is_string() ? value.get<std::string>() : value.dump();
  const auto found = std::ranges::find(kSplitNames, name);
  if (found != kSplitNames.end()) return narrow<int32_t>(found - kSplitNames.begin());
  if (name.empty()) return 3;
  require(name == "valid" || name == "val" || name == "dev",
          "{}: the split \"{}\" is none of train, validation (valid, val, dev), test and none",
          where, excerpt(name));
  return 1;
}

void GraphBuilder::add_value(ReadGraph& read, GraphPart part, NumberLists& lists,
                             const nlohmann::json& value, const std::string& where) {
  if (!value.is_array()) return read.graph.of(part).ids.push_back(json_id(part, value, where));
  for (const nlohmann::json& number : value) {
    require(number.is_number() && fits_float(number.get<double>()),
            "{}: {} stands in a list of numbers; a finite number that f32 holds belongs there",
            where, excerpt(number.dump()));
    lists.values.push_back(number.get<double>());
  }
  lists.end_list();
}

void GraphBuilder::add(ReadGraph&& read) {
  require(std::ssize(read.edges) <= kMostNodes / 2, "{} has {} links; {} are the most",
          read.graph.name, read.edges.size(), kMostNodes / 2);
  const auto fits = [&](const NumberLists& lists, GraphPart categories, int64_t rows) {
    for (const int64_t told : {std::ssize(lists.ends), std::ssize(read.graph.of(categories).ids)})
      require(told == 0 || told == rows,
              "{}: {} of {} rows of {} are lists of numbers; all must be, or none ([] is empty)",
              read.graph.name, told, rows, name_of(categories));
  };
  fits(read.node_lists, GraphPart::node_category, read.graph.nodes);
  fits(read.link_lists, GraphPart::link_category, std::ssize(read.edges));
  read_.push_back(std::move(read));
}

void GraphBuilder::lists_to_numbers(NumberLists ReadGraph::*lists, GraphPart number,
                                    int64_t width) {
  set_.of(number).width = width;
  for (ReadGraph& read : read_) {
    const NumberLists& from = read.*lists;
    for (size_t i = 0; i < from.ends.size(); ++i)
      require(from.length(i) == width,
              "{}: {} {} has {} numbers, but the first has {}; they must be as many, or give "
              "graphs.feature_kind=bag",
              read.graph.name, name_of(number), i, from.length(i), width);
    read.graph.of(number).numbers.assign(from.values.begin(), from.values.end());
  }
}

void GraphBuilder::lists_to_bags(NumberLists ReadGraph::*lists, GraphPart bag, bool places) {
  for (ReadGraph& read : read_) {
    const NumberLists& from = read.*lists;
    GraphValues& into = read.graph.of(bag);
    if (from.empty() && read.graph.nodes > 0) continue;
    into.starts.push_back(0);
    for (size_t i = 0; i < from.ends.size(); ++i) {
      const std::string where = fmt::format("{}: node {}", read.graph.name, i);
      for (int64_t at = from.begin(i); at < from.ends[i]; ++at) {
        const double value = from.values[at];
        require(std::trunc(value) == value,
                "{} has {} among its categories; whole numbers belong there", where, value);
        const std::string name = name_of_number(value);
        into.ids.push_back(
            id(bag, places ? fmt::format("{}={}", at - from.begin(i), name) : name, where));
      }
      into.starts.push_back(narrow<uint32_t>(into.ids.size()));
    }
  }
}

// Of what is not said, what the vocabulary has; automatic: it has neither.
FeatureKind GraphBuilder::list_kind(GraphPart bag, GraphPart number) const {
  const bool texts = config_.layout == GraphLayout::tu || config_.layout == GraphLayout::lists;
  if (bag == number) return FeatureKind::numbers;
  if (config_.features != FeatureKind::automatic) return config_.features;
  if (names(bag).known())
    return names(bag).names().front().find('=') == std::string::npos ? FeatureKind::bag
                                                                     : FeatureKind::categories;
  const bool numbers = vocabulary_ && vocabulary_->column(name_of(number));
  return texts || numbers ? FeatureKind::numbers : FeatureKind::automatic;
}

// The same of values that stand alone. In texts graphs.feature_kind is of lists.
LabelKind GraphBuilder::single_kind(GraphPart from, GraphPart to) const {
  LabelKind said = from == GraphPart::link_category ? config_.links : config_.labels;
  if (from == GraphPart::node_category) {
    const bool lists = config_.layout == GraphLayout::tu || config_.layout == GraphLayout::lists ||
                       config_.features == FeatureKind::automatic;
    said = lists                                      ? LabelKind::automatic
           : config_.features == FeatureKind::numbers ? LabelKind::numbers
                                                      : LabelKind::classes;
  }
  if (said != LabelKind::automatic) return said;
  if (names(from).known()) return LabelKind::classes;
  return vocabulary_ && vocabulary_->column(name_of(to)) ? LabelKind::numbers
                                                         : LabelKind::automatic;
}

void GraphBuilder::settle_lists(NumberLists ReadGraph::*lists, GraphPart bag, GraphPart number) {
  int64_t width = -1;
  bool even = true;
  for (const ReadGraph& read : read_)
    for (size_t i = 0; i < (read.*lists).ends.size(); ++i) {
      const int64_t length = (read.*lists).length(i);
      if (width < 0) width = length;
      even = even && length == width;
    }
  const bool said = std::ranges::any_of(
      read_, [&](const ReadGraph& read) { return !(read.*lists).values.empty(); });
  const bool empty =
      bag != number && names(bag).known() && std::ranges::all_of(read_, [&](const ReadGraph& read) {
        return std::ssize((read.*lists).ends) == read.rows(bag);
      });
  if (!said && !empty) return;
  FeatureKind kind = list_kind(bag, number);
  if (kind == FeatureKind::automatic)
    kind = even && width > 0 ? FeatureKind::numbers : FeatureKind::bag;
  if (kind != FeatureKind::numbers)
    return lists_to_bags(lists, bag, kind == FeatureKind::categories);
  require(width > 0, "the first list of numbers of {} is empty", name_of(number));
  lists_to_numbers(lists, number, width);
}

// Categories that are numbers, by what is said or by a fraction, become a number a row.
void GraphBuilder::settle_numbers(GraphPart from, GraphPart to) {
  const LabelKind kind = single_kind(from, to);
  const std::vector<std::string>& names = names_[static_cast<size_t>(from)].names();
  const auto number = [](const std::string& name) { return parsed_number<double>(name); };
  const bool numbers =
      std::ranges::all_of(names, [&](const std::string& name) { return number(name).has_value(); });
  const bool fractions = numbers && std::ranges::any_of(names, [&](const std::string& name) {
                           return std::trunc(*number(name)) != *number(name);
                         });
  if (names.empty() || kind == LabelKind::classes || (kind == LabelKind::automatic && !fractions))
    return;
  require(numbers,
          "{} are to be numbers (graphs.feature_kind, link_kind, label_kind or vocabulary), but "
          "some are not: {}",
          name_of(from), listed(names));
  require(!set_.of(to).used(), "{} are numbers beside lists of numbers", name_of(from));
  set_.of(to).width = 1;
  for (ReadGraph& read : read_) {
    std::vector<float> made;
    for (const int32_t id : read.graph.of(from).ids) {
      require(id >= 0,
              "{}: a row of {} has no number, but others have; give it one, or what has none a "
              "store of its own",
              read.graph.name, name_of(from));
      made.push_back(static_cast<float>(finite_number(names[id], read.graph.name, name_of(from))));
    }
    read.graph.of(from).ids.clear();
    read.graph.of(to).numbers = std::move(made);
  }
  names_[static_cast<size_t>(from)] = NameTable();
}

// The id of what has no category.
int32_t GraphBuilder::none_of(GraphPart part) {
  require(!names(part).known() || is_label(part) || names(part).has(kNoCategory),
          "some rows have no {}, but in graphs.vocabulary={} all have one; give it", name_of(part),
          config_.vocabulary);
  return names_[static_cast<size_t>(part)].add(kNoCategory);
}

// Ids by the order of names; where some rows have none that is a category of its own. What is known
// is there in graphs without a row, too, but for labels.
void GraphBuilder::settle_names(GraphPart part) {
  NameTable& table = names_[static_cast<size_t>(part)];
  const auto any = [&](const auto& is) {
    return std::ranges::any_of(read_, [&](const ReadGraph& read) {
      return std::ranges::any_of(read.graph.of(part).ids, is);
    });
  };
  const bool whole = std::ranges::all_of(read_, [&](const ReadGraph& read) {
    const GraphValues& values = read.graph.of(part);
    return part == GraphPart::node_bag ? std::ssize(values.starts) == read.rows(part) + 1
                                       : std::ssize(values.ids) == read.rows(part);
  });
  if (!any([](int32_t id) { return id >= 0; }) && !(table.known() && whole && !is_label(part))) {
    for (ReadGraph& read : read_) read.graph.of(part).ids.clear();
    return;
  }
  const int32_t none = any([](int32_t id) { return id < 0; }) ? none_of(part) : -1;
  const std::vector<int32_t> moved = table.settle();
  for (ReadGraph& read : read_)
    for (int32_t& id : read.graph.of(part).ids) id = moved[id < 0 ? none : id];
  set_.of(part).names = table.names();
}

// What says no split, where others do, is of none.
void GraphBuilder::settle_split(GraphPart part) {
  const auto has = [&](const ReadGraph& read) { return !read.graph.of(part).ids.empty(); };
  if (std::ranges::none_of(read_, has)) return;
  set_.of(part).names = {kSplitNames.begin(), kSplitNames.end()};
  for (ReadGraph& read : read_)
    if (!has(read)) read.graph.of(part).ids.assign(read.rows(part), split_id(nullptr, ""));
}

void GraphBuilder::check_filled(GraphPart part) const {
  if (!set_.of(part).used()) return;
  require(set_.of(part).width == 0 || set_.of(part).names.empty(),
          "{}: some rows of {} are lists and some are not", read_.front().graph.name,
          name_of(part));
  for (const ReadGraph& read : read_) {
    const GraphValues& values = read.graph.of(part);
    const int64_t width = std::max<int64_t>(1, set_.of(part).width);
    const int64_t told = part == GraphPart::node_bag
                             ? std::max<int64_t>(0, std::ssize(values.starts) - 1)
                             : std::ssize(values.ids) + std::ssize(values.numbers) / width;
    require(told == read.rows(part),
            "{} has {} of {} {} rows, but other graphs have theirs; all must have them, or none",
            read.graph.name, told, read.rows(part), name_of(part));
  }
}

GraphSet GraphBuilder::finish() {
  require(!read_.empty(), "{} hold no graph", listed(config_.inputs));
  settle_lists(&ReadGraph::node_lists, GraphPart::node_bag, GraphPart::node_number);
  settle_lists(&ReadGraph::label_lists, GraphPart::label, GraphPart::label);
  settle_lists(&ReadGraph::link_lists, GraphPart::link_number, GraphPart::link_number);
  settle_numbers(GraphPart::node_category, GraphPart::node_number);
  settle_numbers(GraphPart::link_category, GraphPart::link_number);
  for (const GraphPart part : {GraphPart::node_label, GraphPart::label}) settle_numbers(part, part);
  for (const GraphPart part : kAllParts)
    if (!is_split(part)) settle_names(part);
  for (const GraphPart part : {GraphPart::node_split, GraphPart::split}) settle_split(part);
  for (const GraphPart part : kAllParts) check_filled(part);
  for (ReadGraph& read : read_) {
    link_graph(read, config_);
    set_.graphs.push_back(std::move(read.graph));
  }
  set_.directed = config_.directed;
  return std::move(set_);
}

}  // namespace skein::data
