#include "skein/data/graphs/graph_store.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "skein/core/clock.h"
#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/data/columns/record_sink.h"
#include "skein/data/corpus/corpus.h"
#include "skein/data/corpus/encode.h"

#include "data/files/ordered_workers.h"

namespace skein::data {
namespace {

constexpr GraphPart part_at(size_t number) { return static_cast<GraphPart>(number); }

ColumnInfo plain_column(const char* name, const Hdf5Type& type, std::vector<uint64_t> row_shape) {
  return {.name = name,
          .meaning = PlainMeaning{},
          .ragged = true,
          .type = type,
          .row_shape = std::move(row_shape)};
}

std::vector<ColumnInfo> columns_of(const GraphSet& set, const PositionsConfig& positions,
                                   const NodeColours& colours) {
  std::vector<ColumnInfo> made{plain_column(kLinkStartsColumn, kHdf5U32, {}),
                               plain_column(kLinkToColumn, kHdf5U32, {})};
  for (size_t i = 0; i < kGraphParts; ++i) {
    const GraphPart part = part_at(i);
    const GraphColumn& column = set.columns[i];
    if (!column.used()) continue;
    const bool ragged = is_of_nodes(part) || is_of_links(part);
    made.push_back(column.width > 0 ? number_column(name_of(part), column.width, ragged)
                                    : category_column(name_of(part), column.names, ragged));
  }
  if (set.of(GraphPart::node_bag).used())
    made.push_back(plain_column(kBagStartsColumn, kHdf5U32, {}));
  if (positions.laplacian > 0)
    made.push_back(number_column(kLaplacianColumn, positions.laplacian, true));
  if (positions.walks > 0) made.push_back(number_column(kWalkColumn, positions.walks, true));
  if (positions.colours >= 0) {
    made.push_back(
        plain_column(kColourColumn, kHdf5U32, {static_cast<uint64_t>(positions.colours) + 1}));
    made.back().meaning = PlainMeaning{colours.numbering};
  }
  if (positions.distances)
    made.push_back(plain_column(kDistanceColumn, {Hdf5Type::Kind::integer, 1, false}, {}));
  return made;
}

class GraphWriter {
 public:
  GraphWriter(const GraphSet& set, const GraphStoreConfig& config)
      : set_(set),
        config_(config),
        colours_(config.positions.colours < 0 ? NodeColours()
                                              : node_colours(set, config.positions.colours)),
        writer_(config.output, columns_of(set, config.positions, colours_),
                existing(config.replace)) {
    for (size_t i = 0; i < writer_.columns().size(); ++i)
      number_.emplace(writer_.columns()[i].name, i);
  }

  void add(size_t graph, const GraphPositions& positions) {
    const Graph& from = set_.graphs[graph];
    put(kLinkStartsColumn, from.link_starts);
    put(kLinkToColumn, from.link_to);
    for (size_t i = 0; i < kGraphParts; ++i)
      if (set_.columns[i].used()) put(part_at(i), from.values[i]);
    if (config_.positions.laplacian > 0) put(kLaplacianColumn, positions.laplacian);
    if (config_.positions.walks > 0) put(kWalkColumn, positions.walks);
    if (config_.positions.distances) put(kDistanceColumn, positions.distances);
    if (config_.positions.colours >= 0) put(kColourColumn, colours_.of_graphs[graph]);
    writer_.end_record();
    ++counts_.graphs;
    counts_.nodes += from.nodes;
    counts_.links += from.links();
  }

  GraphCounts finish() {
    writer_.finish();
    for (const ColumnInfo& column : writer_.columns()) counts_.columns.push_back(column.name);
    return counts_;
  }

 private:
  template <class Number>
  void put(const char* name, const std::vector<Number>& values) {
    writer_.add_rows(number_.at(name), std::as_bytes(std::span(values)));
  }
  void put(GraphPart part, const GraphValues& values) {
    for (const int32_t id : values.ids) writer_.add_category(number_.at(name_of(part)), id);
    if (!values.numbers.empty()) put(name_of(part), values.numbers);
    if (part == GraphPart::node_bag) put(kBagStartsColumn, values.starts);
  }

  const GraphSet& set_;
  const GraphStoreConfig& config_;
  NodeColours colours_;
  RecordWriter writer_;
  std::map<std::string, size_t> number_;
  GraphCounts counts_;
};

GraphSet graphs_for(const GraphStoreConfig& config) {
  if (config.made.maker == GraphMaker::none) {
    require(config.made == MadeGraphsConfig{},
            "graphs.count, communities, community_nodes, inside, outside, height and width are of "
            "graphs.make; say what to make, or leave them out");
    return read_graphs(config.files);
  }
  for (const std::vector<std::string>* const files : {&config.files.inputs, &config.files.edges})
    if (!files->empty())
      fail_usage("\"{}\" was given, but graphs.make reads nothing", files->front());
  require(
      config.files == GraphFilesConfig{},
      "options of how files are read were given (graphs.format, directed, self_loops, ...), but "
      "graphs.make reads none; leave them out");
  MadeGraphsConfig made = config.made;
  made.seed = config.split.seed;
  return made_graphs(made);
}

}  // namespace

void bind(Options& options, GraphStoreConfig& c) {
  bind(options, c.files);
  options.add("graphs.fractions", c.split.fractions,
              "parts of the graphs, or of the nodes of one graph, for training, validation and "
              "test, such as 0.8,0.1,0.1; empty: as the data say");
  options.add("graphs.folds", c.split.folds, "parts of equal sizes and classes instead", "folds");
  options.add("graphs.link_fractions", c.split.link_fractions,
              "parts of the links of each graph for training, validation and test, such as "
              "0.85,0.05,0.1, for graph.target=links; empty: all are for training");
  options.add("graphs.seed", c.split.seed, "of what is drawn");
  bind(options, c.positions);
  bind(options, c.made);
}

GraphCounts write_graph_store(const GraphStoreConfig& config) {
  const double begun = steady_seconds();
  std::vector<std::string> taken = config.files.inputs;
  std::ranges::copy(config.files.edges, std::back_inserter(taken));
  if (!config.files.vocabulary.empty()) taken.push_back(config.files.vocabulary);
  check_output("output.path", config.output, taken, existing(config.replace));
  check(config.positions);
  GraphSet set = graphs_for(config);
  draw_split(set, config.split);
  GraphWriter writer(set, config);
  OrderedWorkers<size_t, GraphPositions> workers(
      worker_threads(config.threads), [&](int, const size_t& graph) {
        return positions_of(set.graphs[graph], set.directed, config.positions);
      });
  size_t next = 0, written = 0;
  workers.drive([&](size_t& graph) { return graph = next, next++ < set.graphs.size(); },
                [&](const GraphPositions& positions) { writer.add(written++, positions); });
  GraphCounts counts = writer.finish();
  if (config.made.maker == GraphMaker::blocks)
    counts.block_accuracy = block_accuracy(set, config.made);
  counts.seconds = steady_seconds() - begun;
  return counts;
}

bool holds_graphs(const Records& records) {
  return std::ranges::any_of(records.columns(), [](const Column& column) {
    return column.info.name == kLinkStartsColumn;
  });
}

GraphRecords::GraphRecords(std::shared_ptr<const Records> records)
    : records_(std::move(records)),
      starts_column_(records_->column(kLinkStartsColumn)),
      to_column_(records_->column(kLinkToColumn)) {
  for (const size_t column : {starts_column_, to_column_}) {
    const ColumnInfo& info = records_->columns()[column].info;
    require(info.ragged && info.row_shape.empty() && info.type.bytes == 4 &&
                info.type.kind == Hdf5Type::Kind::integer && !info.type.is_signed,
            "{} is no store of graphs: its column \"{}\" is not u32 with any number of rows a "
            "record; `skein-data graphs` makes one",
            records_->name(), info.name);
  }
}

int64_t GraphRecords::nodes(int64_t record) const {
  const int64_t starts = records_->rows(starts_column_, record);
  require(starts >= 1, "{} is damaged: record {} has no link_starts", records_->name(), record);
  return starts - 1;
}

std::vector<uint32_t> GraphRecords::whole_numbers(size_t column, int64_t record) const {
  const std::span<const std::byte> bytes = records_->values(column, record);
  std::vector<uint32_t> made(bytes.size() / sizeof(uint32_t));
  if (!made.empty()) std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

GraphLinks GraphRecords::links(int64_t record) const {
  const std::vector<uint32_t> starts = whole_numbers(starts_column_, record);
  const std::vector<uint32_t> to = whole_numbers(to_column_, record);
  const int64_t count = nodes(record);
  const bool good = starts.front() == 0 && std::ranges::is_sorted(starts) &&
                    starts.back() == to.size() &&
                    std::ranges::all_of(to, [&](uint32_t node) { return node < count; });
  require(good,
          "{} is damaged: the links of record {} leave its {} nodes, or link_starts does not rise "
          "from 0 to their number, {}; copy it again or make it again",
          records_->name(), record, count, to.size());
  return {{starts.begin(), starts.end()}, {to.begin(), to.end()}};
}

std::optional<size_t> GraphRecords::column(const std::string& name) const {
  for (size_t i = 0; i < records_->columns().size(); ++i)
    if (records_->columns()[i].info.name == name) return i;
  return {};
}

std::vector<int32_t> GraphRecords::categories(GraphPart part, int64_t record) const {
  const size_t column = records_->column(name_of(part));
  std::vector<int32_t> ids = records_->categories(column, record);
  const int64_t wanted = is_of_nodes(part)   ? nodes(record)
                         : is_of_links(part) ? records_->rows(to_column_, record)
                                             : 1;
  require(std::ssize(ids) == wanted, "{} is damaged: record {} has {} rows of {}; {} belong there",
          records_->name(), record, ids.size(), name_of(part), wanted);
  return ids;
}

}  // namespace skein::data
