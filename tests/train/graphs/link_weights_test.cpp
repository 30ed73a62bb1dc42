// What models of graphs weigh links by, at every layout.
#include "skein/train/graphs/link_weights.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>

#include "skein/core/json.h"
#include "skein/models/architecture.h"

#include "support/expect_error.h"
#include "train/graphs/graph_config.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

class LinkWeightsOfModels : public test::TaskRuns<GraphConfig> {
 protected:
  std::unique_ptr<Task> task(GraphConfig& c) const override { return graph_task(c.run, c.graphs); }

  std::vector<WeighedGraph> weighed(const std::string& store, const GraphsToWeigh& wanted,
                                    int ranks = 1, const ParallelConfig& parallel = {}) const {
    std::vector<WeighedGraph> made;
    run_ranks(ranks, [&](Group& world) {
      const TrainedModel source = open_trained_model(folder_.file("graphs"), 0, world);
      TrainedGraphModel model(source, parallel, DType::f32, 2, world, vector_objective(true));
      auto found = weighed_graphs(model, model.samples({store}, {.unlabelled = true}), wanted);
      if (world.rank() == world.size() - 1) made = std::move(found);
    });
    return made;
  }

  // Of each node of each layer and head: the sum of its weights.
  static std::map<int32_t, double> sums(const WeighedLinks& layer, int64_t head) {
    std::map<int32_t, double> made;
    for (size_t e = 0; e < layer.to.size(); ++e)
      made[layer.to[e]] +=
          layer.weights.data<double>()[static_cast<int64_t>(e) * layer.weights.dim(1) + head];
    return made;
  }

  const std::string store_ = write_graphs(folder_.file("graphs.h5"), {.count = 9});
};

TEST_F(LinkWeightsOfModels, AreSharesOfEachNodeAtEveryLayout) {
  GraphConfig c = small_graph_run(store_);
  c.run.train.global_batch = 4;
  c.run.train.micro_batch = 2;
  run(c, 1, "graphs");
  const auto graphs = weighed(store_, {.count = 5});
  ASSERT_EQ(graphs.size(), 5u);
  EXPECT_EQ(graphs[3].name, store_ + ", graph 3");
  for (const WeighedGraph& graph : graphs) {
    ASSERT_EQ(graph.layers.size(), 2u);
    for (const WeighedLinks& layer : graph.layers) {
      ASSERT_EQ(layer.weights.shape(), (Shape{std::ssize(graph.links), 2}));
      for (size_t e = 0; e < layer.to.size(); ++e)
        EXPECT_TRUE(layer.from[e] == graph.links[e].first && layer.to[e] == graph.links[e].second);
      for (const int64_t head : {0, 1})
        for (const auto& [node, sum] : sums(layer, head)) EXPECT_NEAR(sum, 1, 1e-6) << node;
    }
  }
  ParallelConfig halves, stages;
  halves.tensor = 2;
  stages.pipeline = 2;
  for (const auto& [ranks, parallel] :
       {std::pair(2, ParallelConfig{}), std::pair(2, stages), std::pair(2, halves)}) {
    const auto again = weighed(store_, {.count = 5}, ranks, parallel);
    for (size_t i = 0; i < 5; ++i)
      for (size_t layer = 0; layer < 2; ++layer) {
        const WeighedLinks &one = graphs[i].layers[layer], &other = again[i].layers[layer];
        EXPECT_EQ(other.from, one.from);
        ASSERT_EQ(other.weights.shape(), one.weights.shape());
        for (int64_t k = 0; k < one.weights.size(); ++k)
          EXPECT_NEAR(other.weights.data<double>()[k], one.weights.data<double>()[k],
                      parallel.tensor > 1 ? 1e-5 : 0);
      }
  }
}

TEST_F(LinkWeightsOfModels, AreOfTheGraphAndNodeThatAreMeant) {
  run(small_graph_run(store_), 1, "graphs");
  const auto all = weighed(store_, {.count = 9}), one = weighed(store_, {.graph = 7, .node = 2});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].name, store_ + ", graph 7");
  const WeighedLinks &whole = all[7].layers[1], &part = one[0].layers[1];
  size_t at = 0;
  for (size_t e = 0; e < whole.to.size(); ++e) {
    if (whole.to[e] != 2) continue;
    ASSERT_LT(at, part.to.size());
    EXPECT_EQ(part.from[at], whole.from[e]);
    EXPECT_EQ(part.weights.data<double>()[2 * at + 1], whole.weights.data<double>()[2 * e + 1]);
    ++at;
  }
  EXPECT_EQ(at, part.to.size());
  EXPECT_EQ(at, 2u);
  test::expect_error(ExitCode::usage,
                     {"attend.graph=9, but that is none of the 9 graphs that are meant"},
                     [&] { weighed(store_, {.graph = 9}); });
  test::expect_error(ExitCode::usage,
                     {"attend.node=5, but " + store_ + ", graph 7 has 5 nodes, from 0 on"},
                     [&] { weighed(store_, {.graph = 7, .node = 5}); });
}

// A graphormer sees all pairs, and its virtual node.
TEST_F(LinkWeightsOfModels, AreOfAllPairsWhereAllAreSeen) {
  GraphConfig c = small_graph_run(store_);
  graph_options(c.run.model).form = GraphFormKind::graphormer;
  graph_options(c.run.model).virtual_node = true;
  run(c, 1, "graphs");
  const auto graphs = weighed(store_, {.count = 3});
  const WeighedLinks& layer = graphs[2].layers[0];
  const int64_t nodes = 4 + 2 * 7 % 6 + 1;
  EXPECT_EQ(layer.weights.shape(), (Shape{nodes * nodes, 2}));
  EXPECT_EQ(layer.from.front(), -1);
  EXPECT_EQ(layer.to.back(), nodes - 2);
  EXPECT_NEAR(sums(layer, 1).at(-1), 1, 1e-6);
  EXPECT_NE(weights_svg(graphs[2], layer).find(">virtual</text>"), std::string::npos);
}

TEST_F(LinkWeightsOfModels, OfMeansAreAlike) {
  GraphConfig c = small_graph_run(store_);
  graph_options(c.run.model).score = LinkScoring::mean;
  run(c, 1, "graphs");
  const auto graphs = weighed(store_, {.graph = 0});
  const WeighedLinks& ring = graphs[0].layers[0];
  ASSERT_EQ(ring.weights.shape(), (Shape{8, 1}));
  for (int64_t e = 0; e < 8; ++e) EXPECT_EQ(ring.weights.data<double>()[e], 0.5);
  EXPECT_EQ(weight_lines(graphs).at(1),
            "layer 1, head 0: over 4 nodes with several links the largest weight is 0.500 in the "
            "mean, where equal ones were 0.500; entropy 0.69 nats");
}

// GCN's do not sum to 1.
TEST_F(LinkWeightsOfModels, AreToldAsSharesOfTheirSum) {
  WeighedGraph graph;
  graph.layers.push_back({.layer = 0, .from = {1, 2}, .to = {0, 0}});
  graph.layers[0].weights = Tensor::from(std::vector<double>{1.5, 0.5}, {2, 1});
  EXPECT_EQ(weight_lines({graph}).at(0),
            "layer 0, head 0: over 1 nodes with several links the largest weight is 0.750 in the "
            "mean, where equal ones were 0.500; entropy 0.56 nats");
}

TEST_F(LinkWeightsOfModels, AreWrittenAsNumbersAndPictures) {
  run(small_graph_run(store_), 1, "graphs");
  const auto graphs = weighed(store_, {.count = 2});
  const std::string folder = folder_.file("looks");
  const auto files = write_weights("attend.output", folder, graphs);
  EXPECT_EQ(files, (std::vector<std::string>{
                       folder + "/attention.jsonl", folder + "/graph-1-layer-0.svg",
                       folder + "/graph-1-layer-1.svg", folder + "/graph-2-layer-0.svg",
                       folder + "/graph-2-layer-1.svg"}));
  std::ifstream lines(files[0]);
  std::string line;
  size_t count = 0;
  for (; std::getline(lines, line); ++count) {
    if (count > 0) continue;
    const auto json = nlohmann::json::parse(line);
    const WeighedLinks& layer = graphs[0].layers[0];
    EXPECT_EQ(json.at("graph"), store_ + ", graph 0");
    EXPECT_EQ(json.at("layer"), 0);
    EXPECT_EQ(json.at("head"), 0);
    EXPECT_EQ(json.at("from"), layer.from[0]);
    EXPECT_EQ(json.at("to"), layer.to[0]);
    EXPECT_NEAR(json.at("weight").get<double>(), layer.weights.data<double>()[0], 1e-6);
  }
  EXPECT_EQ(count, 2 * 2 * (graphs[0].links.size() + graphs[1].links.size()));
}

TEST_F(LinkWeightsOfModels, OfLargeGraphsHaveNoPicture) {
  WeighedLinks layer;
  WeighedGraph graph{.name = "large", .links = {}, .layers = {}};
  for (int32_t node = 0; node < 100; ++node) {
    graph.links.emplace_back(node, 0);
    layer.from.push_back(node);
    layer.to.push_back(0);
  }
  layer.weights = Tensor::zeros({100, 1}, DType::f64);
  EXPECT_FALSE(weights_svg(graph, layer).empty());
  layer.from[5] = 100;
  layer.from[0] = 101;
  EXPECT_TRUE(weights_svg(graph, layer).empty());
}

}  // namespace
}  // namespace skein::train
