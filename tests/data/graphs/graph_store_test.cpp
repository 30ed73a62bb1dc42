// Stores of graphs: what is written is what is read, by any number of threads.
#include "skein/data/graphs/graph_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "skein/data/columns/record_sink.h"

#include "graph_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Ids = std::vector<int32_t>;
using Longs = std::vector<int64_t>;

// Two graphs, with something of everything.
GraphStoreConfig two_graphs(const Scratch& scratch) {
  write_file(scratch.file("set.jsonl"),
             R"({"nodes":[[1,2],[2]],"edges":[[0,1,0.5]],"y":3,"split":"test"})"
             "\n"
             R"({"nodes":[[],[7],[1]],"edges":[[2,0,4],[2,1,1]],"y":1})"
             "\n");
  GraphStoreConfig made;
  made.files.inputs = {scratch.file("set.jsonl")};
  made.output = scratch.file("made.h5");
  return made;
}

GraphRecords made_store(const GraphStoreConfig& config) {
  write_graph_store(config);
  return GraphRecords(std::make_shared<const Records>(config.output, true));
}

template <class Number>
std::vector<Number> numbers(const GraphRecords& graphs, const char* column, int64_t record) {
  const auto bytes = graphs.records().values(graphs.records().column(column), record);
  std::vector<Number> made(bytes.size() / sizeof(Number));
  if (!made.empty()) std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

void expect_refused(const GraphStoreConfig& config, std::initializer_list<std::string> words) {
  expect_error(ExitCode::usage, words, [&] { write_graph_store(config); });
  EXPECT_FALSE(std::filesystem::exists(config.output));
}

TEST(GraphStore, HoldsWhatWasRead) {
  const Scratch scratch;
  GraphStoreConfig config = two_graphs(scratch);
  EXPECT_EQ(made_store(config).categories(GraphPart::split, 1), (Ids{3}));
  config.files.split_key = "";
  config.replace = true;
  config.positions = {.laplacian = 2, .walks = 2, .colours = 1, .distances = true};
  const GraphRecords graphs = made_store(config);
  ASSERT_EQ(graphs.count(), 2);
  EXPECT_EQ(graphs.nodes(1), 3);
  EXPECT_EQ(graphs.links(1).starts, (Longs{0, 1, 2, 4}));
  EXPECT_EQ(graphs.links(1).columns, (Longs{2, 2, 0, 1}));
  EXPECT_EQ(graphs.categories(GraphPart::label, 0), (Ids{1}));
  EXPECT_EQ(numbers<float>(graphs, "link_number", 1), (std::vector<float>{4, 1, 4, 1}));
  EXPECT_EQ(numbers<uint32_t>(graphs, kBagStartsColumn, 1), (std::vector<uint32_t>{0, 0, 1, 2}));
  EXPECT_EQ(graphs.records().categories(graphs.records().column("node_bag"), 1), (Ids{2, 0}));
  EXPECT_EQ(numbers<float>(graphs, kWalkColumn, 1), (std::vector<float>{0, 0.5, 0, 0.5, 0, 1}));
  EXPECT_EQ(numbers<uint32_t>(graphs, kColourColumn, 0), (std::vector<uint32_t>(4, 0)));
  EXPECT_EQ(numbers<uint8_t>(graphs, kDistanceColumn, 0), (std::vector<uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(numbers<float>(graphs, kLaplacianColumn, 1).size(), 6u);
  EXPECT_FALSE(graphs.column("split"));
}

// What `lines` make by the categories and classes of the store `known`.
GraphStoreConfig by_vocabulary(const Scratch& scratch, const std::string& lines,
                               const std::string& known) {
  write_file(scratch.file("more.jsonl"), lines);
  GraphStoreConfig made;
  made.files.inputs = {scratch.file("more.jsonl")};
  made.files.vocabulary = known;
  made.output = scratch.file("more.h5");
  made.replace = true;
  return made;
}

TEST(GraphStore, TakesTheNamesOfAnother) {
  const Scratch scratch;
  write_file(scratch.file("all.jsonl"), R"({"nodes":["C","N","O"],"edges":[[0,1,1],[1,2]],"y":"a"})"
                                        "\n"
                                        R"({"nodes":["C"],"edges":[],"y":"b"})");
  GraphStoreConfig all;
  all.files.inputs = {scratch.file("all.jsonl")};
  all.output = scratch.file("all.h5");
  write_graph_store(all);
  const auto made = [&](const std::string& lines) {
    return made_store(by_vocabulary(scratch, lines, all.output));
  };
  const GraphRecords some = made(R"({"nodes":["O","N"],"edges":[[0,1]],"y":"b"})");
  EXPECT_EQ(some.categories(GraphPart::node_category, 0), (Ids{2, 1}));
  EXPECT_EQ(some.categories(GraphPart::link_category, 0), (Ids{1, 1}));
  EXPECT_EQ(some.categories(GraphPart::label, 0), (Ids{1}));
  const GraphRecords bare = made(R"({"nodes":["O"],"edges":[]})");
  EXPECT_EQ(bare.records().categories(bare.records().column("link_category"), 0), (Ids{}));
  EXPECT_FALSE(bare.column("label"));
  const GraphRecords mixed = made(R"({"nodes":["O"],"edges":[],"y":"b"})"
                                  "\n"
                                  R"({"nodes":["N"],"edges":[]})");
  EXPECT_EQ(mixed.categories(GraphPart::label, 1), (Ids{2}));
  std::filesystem::remove(scratch.file("more.h5"));
  expect_refused(by_vocabulary(scratch, R"({"nodes":["S"],"edges":[]})", all.output),
                 {"more.jsonl:1: \"S\" is no node_category of graphs.vocabulary=", "all.h5"});
  expect_refused(by_vocabulary(scratch, R"({"nodes":["C",null],"edges":[]})", all.output),
                 {"some rows have no node_category"});
  expect_refused(by_vocabulary(scratch, R"({"nodes":["C"],"edges":[]})", scratch.file("all.jsonl")),
                 {"all.jsonl"});
}

// Lists of one length are numbers by themselves, and whole numbers categories.
TEST(GraphStore, TakesTheKindsOfAnother) {
  const Scratch scratch;
  GraphStoreConfig config = two_graphs(scratch);
  config.files.labels = LabelKind::numbers;
  write_graph_store(config);
  const GraphRecords found = made_store(
      by_vocabulary(scratch, R"({"nodes":[[7],[2]],"edges":[[0,1,3]],"y":4})", config.output));
  EXPECT_EQ(found.records().categories(found.records().column("node_bag"), 0), (Ids{2, 1}));
  EXPECT_EQ(numbers<float>(found, "link_number", 0), (std::vector<float>{3, 3}));
  EXPECT_EQ(numbers<float>(found, "label", 0), (std::vector<float>{4}));
  config.files.features = FeatureKind::categories;
  config.replace = true;
  write_graph_store(config);
  const GraphRecords places =
      made_store(by_vocabulary(scratch, R"({"nodes":[[1]],"edges":[]})", config.output));
  EXPECT_EQ(places.records().categories(places.records().column("node_bag"), 0), (Ids{0}));
}

TEST(GraphStore, HasNoLinksWhereAnotherHasSomeOfCategories) {
  const Scratch scratch;
  write_file(scratch.file("all.jsonl"), R"({"nodes":["C","N"],"edges":[[0,1,"a"]]})");
  GraphStoreConfig all;
  all.files.inputs = {scratch.file("all.jsonl")};
  all.output = scratch.file("all.h5");
  write_graph_store(all);
  const GraphStoreConfig more = by_vocabulary(scratch, R"({"nodes":["N"],"edges":[]})", all.output);
  EXPECT_EQ(made_store(more).categories(GraphPart::node_category, 0), (Ids{1}));
}

TEST(GraphStore, DoesNotDependOnThreads) {
  const Scratch scratch;
  GraphStoreConfig config;
  config.made = {.maker = GraphMaker::skip_links, .count = 4};
  config.positions = {.laplacian = 5, .walks = 8, .colours = 2, .distances = true};
  config.split.folds = 4;
  config.output = scratch.file("made.h5");
  config.threads = 1;
  const GraphRecords graphs = made_store(config);
  EXPECT_EQ(graphs.count(), 40);
  std::map<std::pair<int32_t, int32_t>, int> shares;
  for (int64_t i = 0; i < 40; ++i)
    ++shares[{graphs.categories(GraphPart::split, i)[0],
              graphs.categories(GraphPart::label, i)[0]}];
  EXPECT_EQ(shares.size(), 40u);  // one of each class in each fold
  const std::string once = bytes_of_file(config.output);
  config.threads = 3;
  config.replace = true;
  write_graph_store(config);
  EXPECT_EQ(bytes_of_file(config.output), once);
}

TEST(GraphStore, OfEmptyGraphsAndLoneNodes) {
  const Scratch scratch;
  GraphStoreConfig config = two_graphs(scratch);
  write_file(scratch.file("set.jsonl"), "{\"nodes\":0,\"edges\":[]}\n");
  config.positions = {.laplacian = 2, .walks = 2, .colours = 1, .distances = true};
  EXPECT_EQ(made_store(config).links(0).starts, (Longs{0}));
  write_file(scratch.file("set.jsonl"), "{\"nodes\":0,\"edges\":[]}\n{\"nodes\":1,\"edges\":[]}\n");
  config.replace = true;
  const GraphRecords graphs = made_store(config);
  EXPECT_EQ(graphs.nodes(0), 0);
  EXPECT_EQ(graphs.links(1).starts, (Longs{0, 0}));
  EXPECT_EQ(numbers<float>(graphs, kLaplacianColumn, 1), (std::vector<float>{0, 0}));
  EXPECT_EQ(numbers<uint8_t>(graphs, kDistanceColumn, 1), (std::vector<uint8_t>{0}));
}

TEST(GraphStore, DrawsSplits) {
  const Scratch scratch;
  GraphStoreConfig config;
  config.made = {.maker = GraphMaker::grid, .height = 5, .width = 8};
  config.split.fractions = {"0.5", "0.25", "0.25"};
  config.output = scratch.file("made.h5");
  const GraphRecords graphs = made_store(config);
  Ids splits = graphs.categories(GraphPart::node_split, 0);
  EXPECT_FALSE(std::ranges::is_sorted(splits));
  EXPECT_EQ(std::ranges::count(splits, 0), 20);
  EXPECT_EQ(std::ranges::count(splits, 1), 10);
  EXPECT_EQ(std::ranges::count(splits, 2), 10);
  EXPECT_EQ(graphs.links(0).columns.size(), size_t{2 * (5 * 7 + 4 * 8)});
  config.split.seed = 2;
  config.replace = true;
  EXPECT_NE(made_store(config).categories(GraphPart::node_split, 0), splits);
}

TEST(GraphStore, BadSplits) {
  const Scratch scratch;
  GraphStoreConfig config = two_graphs(scratch);
  config.files.split_key = "";
  config.split.folds = 3;
  expect_refused(config, {"graphs.folds=3", "there are only 2 graphs"});
  config.split.fractions = {"1", "0", "0"};
  expect_refused(config, {"graphs.folds=3", "two ways"});
  config.split.folds = 0;
  config.split.fractions = {"0.5", "0.2", "0.2"};
  expect_refused(config, {"with the sum 0.9"});
  config.split.fractions = {"0.5", "0.5"};
  expect_refused(config, {"are 2 with the sum 1"});
  config.split.fractions = {"0.5", "nan", "0.5"};
  expect_refused(config, {"\"nan\" is no fraction"});
  write_file(scratch.file("set.jsonl"),
             "{\"nodes\":2,\"edges\":[],\"split\":\"test\"}\n"
             "{\"nodes\":1,\"edges\":[],\"split\":\"train\"}\n");
  config.files.split_key = "split";
  config.split.fractions = {"0.5", "0.25", "0.25"};
  expect_refused(config, {"the data say a split already"});
}

TEST(GraphStore, GraphsThatAreReadTakeNoOptionsOfMadeOnes) {
  const Scratch scratch;
  GraphStoreConfig config = two_graphs(scratch);
  config.made.count = 3;
  expect_refused(config, {"graphs.count", "are of graphs.make"});
}

TEST(GraphStore, MadeGraphsReadNothing) {
  const Scratch scratch;
  GraphStoreConfig config = two_graphs(scratch);
  config.made.maker = GraphMaker::grid;
  expect_refused(config, {"set.jsonl\" was given", "graphs.make reads nothing"});
  config.files.inputs.clear();
  config.files.self_loops = SelfLoops::add;
  expect_refused(config, {"options of how files are read were given"});
  config.files = {};
  config.made.height = 0;
  expect_refused(config, {"graphs.height=0"});
  config.made = {.maker = GraphMaker::skip_links, .count = 0};
  expect_refused(config, {"graphs.count=0"});
  config.made = {.maker = GraphMaker::blocks, .communities = 1};
  expect_refused(config, {"graphs.communities=1"});
  config.made = {.maker = GraphMaker::blocks, .inside = 1};
  expect_refused(config, {"graphs.inside=1"});
}

// How many of the unknown nodes of two communities the likeliest community is right for, by all
// states of the unknown ones.
int64_t exactly_right(const Graph& graph, const MadeGraphsConfig& config) {
  std::vector<int64_t> unknown;
  Ids state = graph.of(GraphPart::node_category).ids;
  for (int64_t node = 0; node < graph.nodes; ++node)
    if (state[node] > 1) unknown.push_back(node);
  std::vector<double> of_first(graph.nodes), of_second(graph.nodes);
  for (int64_t bits = 0; bits < int64_t{1} << unknown.size(); ++bits) {
    for (size_t i = 0; i < unknown.size(); ++i) state[unknown[i]] = (bits >> i) & 1;
    double chance = 1;
    for (int64_t a = 0; a < graph.nodes; ++a)
      for (int64_t b = 0; b < a; ++b) {
        const double link = state[a] == state[b] ? config.inside : config.outside;
        const auto begin = graph.link_to.begin();
        const bool there =
            std::binary_search(begin + graph.link_starts[a], begin + graph.link_starts[a + 1], b);
        chance *= there ? link : 1 - link;
      }
    for (const int64_t node : unknown) (state[node] == 0 ? of_first : of_second)[node] += chance;
  }
  return std::ranges::count_if(unknown, [&](int64_t node) {
    return (of_second[node] > of_first[node]) == (graph.of(GraphPart::node_label).ids[node] == 1);
  });
}

TEST(GraphStore, Communities) {
  MadeGraphsConfig config{.maker = GraphMaker::blocks, .count = 3, .inside = 0.6, .outside = 0.05};
  const GraphSet set = made_graphs(config);
  ASSERT_EQ(set.graphs.size(), 3u);
  for (const Graph& graph : set.graphs) {
    const Ids &labels = graph.of(GraphPart::node_label).ids,
              &known = graph.of(GraphPart::node_category).ids;
    EXPECT_EQ(graph.nodes, 120);
    for (int32_t kind = 0; kind < 6; ++kind) {
      EXPECT_EQ(std::ranges::count(labels, kind), 20);
      ASSERT_EQ(std::ranges::count(known, kind), 1);
      EXPECT_EQ(labels[std::ranges::find(known, kind) - known.begin()], kind);
    }
    // 6 x 190 pairs within and 15 x 400 between, five deviations
    EXPECT_NEAR(graph.links() / 2.0, 0.6 * 1140 + 0.05 * 6000, 5 * std::sqrt(560.0));
  }
  EXPECT_GT(block_accuracy(set, config), 0.99);
  config.outside = 0.6;  // nothing to see
  EXPECT_NEAR(block_accuracy(made_graphs(config), config), 1 / 6.0, 0.1);
}

// Of two communities of three nodes all 2^4 states are counted, by the probability of each.
TEST(GraphStore, BeliefsAreNearTheExactOnes) {
  MadeGraphsConfig config{.maker = GraphMaker::blocks,
                          .count = 400,
                          .communities = 2,
                          .community_nodes = 3,
                          .inside = 0.7,
                          .outside = 0.2};
  const GraphSet set = made_graphs(config);
  double right = 0;
  for (const Graph& graph : set.graphs) right += exactly_right(graph, config);
  EXPECT_NEAR(block_accuracy(set, config), right / (400 * 4), 0.02);
  config.count = kJudgedBlocks;
  const double found = block_accuracy(made_graphs(config), config);
  config.count = kJudgedBlocks + 50;  // no more are looked at
  EXPECT_EQ(block_accuracy(made_graphs(config), config), found);
}

// A store made elsewhere, of one graph of two nodes.
GraphRecords foreign(std::vector<uint32_t> starts, std::vector<uint32_t> to,
                     const char* name = kLinkToColumn) {
  const auto column = [](const char* called) {
    return ColumnInfo{.name = called,
                      .meaning = PlainMeaning{},
                      .ragged = true,
                      .type = {Hdf5Type::Kind::integer, 4, false},
                      .row_shape = {}};
  };
  RecordBuilder builder("foreign.h5", {column(kLinkStartsColumn), column(name)});
  builder.add_rows(0, std::as_bytes(std::span(starts)));
  builder.add_rows(1, std::as_bytes(std::span(to)));
  builder.end_record();
  return GraphRecords(std::make_shared<const Records>(builder.finish()));
}

TEST(GraphStore, DamagedStores) {
  EXPECT_EQ(foreign({0, 1, 2}, {1, 0}).links(0).columns, (Longs{1, 0}));
  const auto refused = [](std::vector<uint32_t> starts, std::vector<uint32_t> to) {
    expect_error(ExitCode::usage, {"foreign.h5 is damaged", "record 0"},
                 [&] { foreign(std::move(starts), std::move(to)).links(0); });
  };
  refused({0, 1, 2}, {1, 2});
  refused({1, 1, 2}, {1, 0});
  refused({0, 2, 1}, {1, 0});
  refused({0, 1, 1}, {1, 0});
  expect_error(ExitCode::usage, {"no column \"link_to\""}, [] { foreign({0, 0}, {}, "link_two"); });
}

}  // namespace
}  // namespace skein::data
