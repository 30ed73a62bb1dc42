// Vectors of nodes and graphs, and how alike those of nodes are.
#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "skein/models/architecture.h"
#include "skein/models/pooled.h"
#include "skein/train/graphs/smoothing.h"

#include "train/graphs/graph_config.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

class GraphVectors : public test::TaskRuns<GraphConfig> {
 protected:
  std::unique_ptr<Task> task(GraphConfig& c) const override { return graph_task(c.run, c.graphs); }

  using Vectors = std::map<std::string, std::vector<float>>;
  // Of the model in that folder, of those that it is asked for, in their order.
  Vectors vectors(const std::string& run, const std::string& store, bool of_nodes, int ranks,
                  const ParallelConfig& parallel = {}) const {
    Vectors made;
    run_ranks(ranks, [&](Group& world) {
      const TrainedModel source = open_trained_model(folder_.file(run), 0, world);
      TrainedGraphModel model(source, parallel, DType::f32, 7, world, vector_objective(of_nodes));
      const int64_t width = source.model.architecture->features(source.model);
      const auto samples = model.samples({store}, {.unlabelled = true});
      const int64_t count = graph_vectors(
          model, samples, of_nodes, width, [&](const auto& names, const Tensor& found) {
            for (size_t i = 0; world.rank() == 0 && i < names.size(); ++i) {
              const float* const from = found.data<float>() + i * width;
              made[names[i]] = {from, from + width};
            }
          });
      if (world.rank() == 0) {
        EXPECT_EQ(count, std::ssize(made));
      }
    });
    return made;
  }

  void expect_cosines_of(const GraphConfig& c) const {
    run(c, 1, "graphs");
    const Vectors nodes = vectors("graphs", store_, true, 1);
    std::vector<std::vector<LayerAlikeness>> found;
    for (const auto& [ranks, pipeline] : {std::pair(1, 1), std::pair(2, 1), std::pair(2, 2)})
      run_ranks(ranks, [&](Group& world) {
        ParallelConfig parallel;
        parallel.pipeline = pipeline;
        const TrainedModel source = open_trained_model(folder_.file("graphs"), 0, world);
        TrainedGraphModel model(source, parallel, DType::f32, 4, world);
        const auto layers = alikeness(model, model.samples({store_}, {}));
        if (world.rank() == 0) found.push_back(layers);
      });
    ASSERT_EQ(found[0].size(), 3u);
    for (const auto& layers : found)
      for (size_t i = 0; i < layers.size(); ++i) {
        EXPECT_EQ(layers[i].linked, found[0][i].linked);
        EXPECT_EQ(layers[i].any, found[0][i].any);
      }
    const data::GraphBlend blend = open_graphs({store_});
    double linked = 0, links = 0, any = 0, pairs = 0;
    for (int64_t graph = 0; graph < 70; ++graph) {
      const data::GraphLinks of = blend.parts[0].links(graph);
      const int64_t count = blend.parts[0].nodes(graph);
      const auto cosine = [&](int64_t a, int64_t b) {
        const auto& x = nodes.at(fmt::format("{}, graph {}, node {}", store_, graph, a));
        const auto& y = nodes.at(fmt::format("{}, graph {}, node {}", store_, graph, b));
        double xy = 0, xx = 0, yy = 0;
        for (size_t i = 0; i < x.size(); ++i)
          xy += x[i] * y[i], xx += x[i] * x[i], yy += y[i] * y[i];
        return xy / std::sqrt(xx * yy);
      };
      for (int64_t a = 0; a < count; ++a) {
        for (int64_t b = 0; b < count; ++b)
          if (a != b) any += cosine(a, b), ++pairs;
        for (int64_t e = of.starts[a]; e < of.starts[a + 1]; ++e)
          linked += cosine(a, of.columns[e]), ++links;
      }
    }
    EXPECT_NEAR(found[0][2].linked, linked / links, 1e-6);
    EXPECT_NEAR(found[0][2].any, any / pairs, 1e-6);
    EXPECT_NE(found[0][1].any, found[0][2].any);
    EXPECT_NE(found[0][0].any, found[0][1].any);
    EXPECT_NE(alikeness_table(found[0]).find("\n    2  "), std::string::npos);
  }

  const std::string store_ = write_graphs(folder_.file("graphs.h5"), {.count = 70}),
                    nodes_ = write_nodes(folder_.file("nodes.h5"));
};

TEST_F(GraphVectors, OfGraphsAreTheMeansOfTheirNodes) {
  run(small_graph_run(store_), 1, "graphs");
  const Vectors nodes = vectors("graphs", store_, true, 1),
                graphs = vectors("graphs", store_, false, 1);
  ASSERT_EQ(graphs.size(), 70u) << "more than are in memory at once";
  const std::string name = store_ + ", graph 66";
  ASSERT_TRUE(graphs.contains(name)) << graphs.begin()->first;
  std::vector<double> mean(16);
  int64_t count = 0;
  for (; nodes.contains(fmt::format("{}, node {}", name, count)); ++count)
    for (size_t i = 0; i < 16; ++i) mean[i] += nodes.at(fmt::format("{}, node {}", name, count))[i];
  EXPECT_EQ(count, 4 + 66 * 7 % 6);
  for (size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(graphs.at(name)[i], mean[i] / static_cast<double>(count), 1e-5);
  for (const bool of_nodes : {true, false}) {
    EXPECT_EQ(vectors("graphs", store_, of_nodes, 2), of_nodes ? nodes : graphs);
    EXPECT_EQ(vectors("graphs", store_, of_nodes, 2, {.pipeline = 2}), of_nodes ? nodes : graphs);
  }
}

// A virtual node is no node, but what its graph is known by.
TEST_F(GraphVectors, KnowAVirtualNodeFromOthers) {
  GraphConfig c = small_graph_run(store_);
  graph_options(c.run.model).form = GraphFormKind::graphormer;
  graph_options(c.run.model).virtual_node = true;
  c.run.model.norm_placement = NormPlacement::post;
  run(c, 1, "virtual");
  const Vectors nodes = vectors("virtual", store_, true, 1),
                graphs = vectors("virtual", store_, false, 1);
  ASSERT_EQ(graphs.size(), 70u);
  EXPECT_TRUE(nodes.contains(store_ + ", graph 66, node 3"));
  EXPECT_FALSE(nodes.contains(fmt::format("{}, graph 66, node {}", store_, 4 + 66 * 7 % 6)));
  for (const auto& [name, vector] : nodes) EXPECT_NE(vector, graphs.begin()->second) << name;
}

TEST_F(GraphVectors, OfThePlainFormAreAsWideAsAsked) {
  GraphConfig c = small_graph_run(nodes_);
  graph_options(c.run.model).form = GraphFormKind::plain;
  graph_options(c.run.model).vector_width = 5;
  c.run.train.global_batch = 1;
  c.run.train.micro_batch = 1;
  run(c, 1, "plain");
  const Vectors nodes = vectors("plain", nodes_, true, 1);
  EXPECT_EQ(nodes.size(), 40u);
  EXPECT_EQ(nodes.begin()->second.size(), 5u);
}

// Of each layer against the cosines of the vectors themselves: the last ones are at hand.
TEST_F(GraphVectors, AreAsAlikeAsTheirCosinesSay) {
  GraphConfig c = small_graph_run(store_);
  c.run.model.norm_placement = NormPlacement::post;
  expect_cosines_of(c);
}
TEST_F(GraphVectors, OfAVirtualNodeAreNotCounted) {
  GraphConfig c = small_graph_run(store_);
  c.run.model.norm_placement = NormPlacement::post;
  graph_options(c.run.model).form = GraphFormKind::graphormer;
  graph_options(c.run.model).virtual_node = true;
  expect_cosines_of(c);
}
}  // namespace
}  // namespace skein::train
