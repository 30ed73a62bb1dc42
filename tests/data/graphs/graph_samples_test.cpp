// What batches hold of graphs.
#include "skein/data/graphs/graph_samples.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace skein
