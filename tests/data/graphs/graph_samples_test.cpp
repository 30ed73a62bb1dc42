// What batches hold of graphs.
#include "skein/data/graphs/graph_samples.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>

#include "data/graphs/graph_fixtures.h"
#include "support/expect_error.h"

namespace skein {
namespace {

using namespace data;
using test::expect_error;

constexpr const char* kLines =
    R"({"nodes":["C","O","C"],"edges":[[0,1,"x"],[1,2,"y"]],"y":"up"}
{"nodes":["N"],"edges":[],"y":"down"}
)";

class GraphSamplesTest : public testing::Test {
 protected:
  GraphBlend blend(const std::string& lines, const PositionsConfig& positions = {}) const {
    test::write_file(folder_.file("graphs.jsonl"), lines);
    GraphStoreConfig config;
    config.files.inputs = {folder_.file("graphs.jsonl")};
    config.positions = positions;
    config.output = folder_.file("graphs.h5");
    config.replace = true;
    write_graph_store(config);
    GraphBlend made;
    made.parts.emplace_back(std::make_shared<const Records>(config.output));
    made.weights = {1};
    return made;
  }
  test::Scratch folder_;
};

template <class T>
std::vector<T> values(const Tensor& x) {
  return {x.span<T>().begin(), x.span<T>().end()};
}

TEST_F(GraphSamplesTest, HoldNodesLinksAndLabels) {
  const GraphBlend graphs = blend(kLines, {.walks = 2, .colours = 0});
  const GraphForm form = graph_form(graphs, {}, {.link_parts = true});
  std::vector<std::string> columns;
  for (const GraphInput& input : form.inputs) columns.push_back(input.column);
  EXPECT_EQ(columns, (std::vector<std::string>{"link_category", "node_category", "node_colour",
                                               "node_walk"}));
  const GraphSizes sizes = sizes_of(form, graphs);
  EXPECT_EQ(sizes, (GraphSizes{6, 2, 2, 0, 3}));
  const GraphSamples samples(graphs, chosen_units(graphs, form, {}), form, {});
  const Batch batch = samples.batch(0, 2);
  EXPECT_EQ(values<int32_t>(batch.lengths), (std::vector<int32_t>{3, 1}));
  EXPECT_EQ(values<int32_t>(batch.segments), (std::vector<int32_t>{0, 0, 0, 0, -1, -1}));
  EXPECT_EQ(values<int32_t>(batch.links),
            (std::vector<int32_t>{0, 1, 1, 0, 1, 2, 2, 1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(count_links(batch), 4);
  EXPECT_EQ(values<int32_t>(batch.link_kinds), (std::vector<int32_t>{0, 0, 1, 1, -1, -1, -1, -1}));
  // categories C, N, O and behind them the colours of round 0, which are alike
  EXPECT_EQ(values<int32_t>(batch.bags),
            (std::vector<int32_t>{0, 3, 2, 5, 0, 3, 1, 4, -1, -1, -1, -1}));
  EXPECT_EQ(values<int32_t>(batch.targets), (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(batch.features.shape(), (Shape{2, 3, 2}));
  EXPECT_FLOAT_EQ(batch.features.span<float>()[1], 0.5F) << "back after two steps";
  const Batch small = trimmed(batch_rows(batch, 1, 2), 1);
  EXPECT_EQ(small.length(), 1);
  EXPECT_EQ(small.bags.shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(small.features.shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(small.links.shape(), (Shape{1, 4, 2}));
  EXPECT_EQ(count_links(small), 0);
}

// Colours are numbered in each store: what the numbers of another one stand for is not known.
TEST_F(GraphSamplesTest, RefuseColoursOfOtherNeighbourhoods) {
  const PositionsConfig colours{.colours = 1};
  const GraphBlend graphs = blend(kLines, colours);
  const GraphForm form = graph_form(graphs, {}, {});
  const auto first = [](const std::string& lines) { return lines.substr(0, lines.find('\n') + 1); };
  const GraphBlend same = blend(std::string(kLines) + kLines, colours);
  check_form(same.parts[0], form, "the model");
  const GraphBlend other = blend(first(kLines), colours);
  GraphForm of_colours = form;
  std::erase_if(of_colours.inputs, [](const auto& one) { return one.column != kColourColumn; });
  expect_error(ExitCode::usage,
               {"the colours of nodes (node_colour) of", "graphs.h5 stand for other neighbourhoods",
                "the model knows", "put all graphs into one"},
               [&] { check_form(other.parts[0], of_colours, "the model"); });
}

TEST_F(GraphSamplesTest, DistancesArePaddedInBothDims) {
  const std::string one(kLines, std::string_view(kLines).find('\n') + 1);
  const GraphBlend graphs = blend(one + R"({"nodes":["C"],"edges":[],"y":"up"})"
                                        "\n",
                                  {.distances = true});
  const GraphForm form = graph_form(graphs, {"pair_distance"}, {.distances = true});
  const GraphSamples samples(graphs, chosen_units(graphs, form, {}), form, {});
  const Batch batch = samples.batch(0, 2);
  EXPECT_EQ(batch.distances.shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(values<int32_t>(batch.distances.rows(0, 1)),
            (std::vector<int32_t>{0, 1, 2, 1, 0, 1, 2, 1, 0}));
  const Batch small = trimmed(batch_rows(batch, 1, 2), 1);
  EXPECT_EQ(values<int32_t>(small.distances), (std::vector<int32_t>{0}));
  EXPECT_EQ(values<int32_t>(small.bags), (std::vector<int32_t>{0})) << "one for all nodes";
}

TEST_F(GraphSamplesTest, NodesWithoutALabelAreNotLearntFrom) {
  test::write_file(folder_.file("nodes.jsonl"),
                   "{\"id\":1,\"y\":\"up\"}\n{\"id\":2}\n{\"id\":3,\"y\":\"down\"}\n");
  test::write_file(folder_.file("edges.tsv"), "1\t2\n2\t3\n");
  GraphStoreConfig config;
  config.files.inputs = {folder_.file("nodes.jsonl")};
  config.files.edges = {folder_.file("edges.tsv")};
  config.output = folder_.file("nodes.h5");
  write_graph_store(config);
  GraphBlend graphs;
  graphs.parts.emplace_back(std::make_shared<const Records>(config.output));
  graphs.weights = {1};
  GraphForm form = graph_form(graphs, {}, {});
  form.of_nodes = true;
  EXPECT_EQ(classes_of(graphs.parts[0], true), (std::vector<std::string>{"down", "up"}));
  const std::vector<GraphUnit> known = chosen_units(graphs, form, {});
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].nodes, (std::vector<int32_t>{0, 2}));
  const Batch batch = GraphSamples(graphs, known, form, {}).batch(0, 1);
  EXPECT_EQ(values<int32_t>(batch.places), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(values<int32_t>(batch.targets), (std::vector<int32_t>{1, 0}));
  const std::vector<GraphUnit> all = chosen_units(graphs, form, {.unlabelled = true});
  EXPECT_EQ(all[0].nodes.size(), 3u);
  const GraphSamples unknown(graphs, all, form, {.labelled = false});
  for (const float weight : unknown.batch(0, 1).weights.span<float>()) EXPECT_EQ(weight, 0);
}

// A ring of 12 nodes, each also linked to all others of its half and to itself.
class NeighbourSamples : public GraphSamplesTest {
 protected:
  NeighbourSamples() {
    std::string nodes, links;
    for (int node = 0; node < 12; ++node) {
      nodes += fmt::format("{}\"{}\"", node ? "," : "", node % 5);
      links += fmt::format("{}[{},{}]", node ? "," : "", node, (node + 1) % 12);
      for (int other = node + 2; other < node / 6 * 6 + 6; ++other)
        links += fmt::format(",[{},{}]", node, other);
    }
    test::write_file(folder_.file("graph.jsonl"),
                     fmt::format(R"({{"nodes":[{}],"edges":[{}]}})", nodes, links) + "\n");
    GraphStoreConfig config;
    config.files.inputs = {folder_.file("graph.jsonl")};
    config.files.self_loops = SelfLoops::add;
    config.output = folder_.file("graph.h5");
    write_graph_store(config);
    graphs_.parts.emplace_back(std::make_shared<const Records>(config.output));
    graphs_.weights = {1};
    form_ = graph_form(graphs_, {}, {});
    form_.of_nodes = true;
  }
  GraphSamples samples(std::vector<int64_t> neighbours, uint64_t seed = 1,
                       OrderKind order = OrderKind::blended) const {
    std::vector<GraphUnit> units{{0, 0, {}, {}}};
    for (int node = 0; node < 12; ++node) units[0].nodes.push_back(node);
    return {graphs_,
            units,
            form_,
            {.seed = seed, .order = order, .labelled = false, .neighbours = std::move(neighbours)}};
  }
  // The nodes of a sample, by the numbers that tell them, and its links.
  static std::vector<int32_t> links_of(const Batch& batch) { return values<int32_t>(batch.links); }

  GraphBlend graphs_;
  GraphForm form_;
};

TEST_F(NeighbourSamples, AreNodesWithSomeOfTheirNeighbours) {
  const GraphSamples all = samples({3, 2});
  EXPECT_EQ(all.samples_per_epoch(), 12);
  EXPECT_EQ(all.places(), 1);
  EXPECT_EQ(all.nodes(), 1 + 3 + 6);
  const GraphLinks whole = graphs_.parts[0].links(0);
  for (int64_t node = 0; node < 12; ++node) {
    const Batch batch = all.batch(node, 1);
    EXPECT_EQ(batch.places.span<int32_t>()[0], 0);
    const auto links = batch.links.span<int32_t>();
    std::vector<int> degree(10), own(10);
    for (size_t i = 0; i + 1 < links.size() && links[i] >= 0; i += 2) {
      ++degree[static_cast<size_t>(links[i])];
      own[static_cast<size_t>(links[i])] += links[i] == links[i + 1];
      EXPECT_LT(links[i + 1], batch.lengths.span<int32_t>()[0]);
      if (i > 0) {
        EXPECT_GE(links[i], links[i - 2]) << "rows rise";
      }
    }
    EXPECT_EQ(degree[0], 4) << "three and itself";
    EXPECT_EQ(own[0], 1);
    for (int place = 1; place <= 3; ++place) EXPECT_EQ(degree[static_cast<size_t>(place)], 3);
    for (size_t place = 4; place < 10; ++place) EXPECT_EQ(degree[place], 0) << "the last hop";
    EXPECT_EQ(batch.types.span<int32_t>()[0], whole.starts[static_cast<size_t>(node) + 1] -
                                                  whole.starts[static_cast<size_t>(node)]);
    EXPECT_EQ(batch.bags.span<int32_t>()[0], node % 5);
  }
}

TEST_F(NeighbourSamples, AreAllWhereTheyAreNoMore) {
  const GraphSamples all = samples({100, 100, 100, 100, 100, 100, 100});
  EXPECT_EQ(all.nodes(), 12);
  const Batch batch = all.batch(3, 1);
  EXPECT_EQ(batch.lengths.span<int32_t>()[0], 12);
  EXPECT_EQ(links_of(batch).size(), 2 * graphs_.parts[0].links(0).columns.size());
  EXPECT_EQ(std::ranges::count(links_of(batch), -1), 0);
}

TEST_F(NeighbourSamples, AreDrawnAnewInEachEpochByTheSeed) {
  const GraphSamples one = samples({2, 2}), other = samples({2, 2}, 2),
                     judged = samples({2, 2}, 1, OrderKind::once),
                     judged_too = samples({2, 2}, 2, OrderKind::once);
  bool by_epoch = false, by_seed = false;
  for (int64_t node = 0; node < 12; ++node) {
    const auto first = values<int32_t>(one.batch(node, 1).bags);
    EXPECT_EQ(first, values<int32_t>(one.batch(0, 12).bags.rows(node, node + 1)));
    by_epoch = by_epoch || first != values<int32_t>(one.batch(node + 12, 1).bags);
    by_seed = by_seed || first != values<int32_t>(other.batch(node, 1).bags);
    EXPECT_EQ(links_of(judged.batch(node, 1)), links_of(judged_too.batch(node, 1)));
    EXPECT_EQ(values<int32_t>(judged.batch(node, 1).bags),
              values<int32_t>(judged.batch(node + 12, 1).bags));
  }
  EXPECT_TRUE(by_epoch);
  EXPECT_TRUE(by_seed);
}

// Each of a node's neighbours as often as the others.
TEST_F(NeighbourSamples, AreDrawnAlike) {
  const GraphSamples all = samples({2});
  std::map<int32_t, int> counts;
  for (int64_t epoch = 0; epoch < 600; ++epoch) {
    const Batch batch = all.batch(12 * epoch + 2, 1);
    for (int32_t place = 1; place < batch.lengths.span<int32_t>()[0]; ++place)
      ++counts[batch.bags.span<int32_t>()[static_cast<size_t>(place)]];
  }
  // Node 2 has the neighbours 0, 1, 3, 4 and 5, of which 0 and 5 are told by the same number.
  EXPECT_EQ(counts[0] + counts[1] + counts[3] + counts[4], 1200);
  EXPECT_NEAR(counts[0], 480, 60);
  for (const int32_t id : {1, 3, 4}) EXPECT_NEAR(counts[id], 240, 45) << id;
}

}  // namespace
}  // namespace skein
