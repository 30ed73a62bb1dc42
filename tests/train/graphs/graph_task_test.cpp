// Models of graphs learn classes and numbers of graphs and of their nodes, to the same bits at
// every layout, and go on where they were.
#include "skein/train/graphs/graph_task.h"

#include <gtest/gtest.h>

#include "skein/train/graphs/trained_graph_model.h"

#include "support/expect_error.h"
#include "train/graphs/graph_config.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::expect_error;

class GraphTasks : public test::TaskRuns<GraphConfig> {
 protected:
  std::unique_ptr<Task> task(GraphConfig& c) const override { return graph_task(c.run, c.graphs); }

  GraphConfig small(const std::string& store) const { return small_graph_run(store); }
  // All that is drawn.
  GraphConfig drawing(LinkScoring score) const {
    GraphConfig c = small(store_);
    graph_options(c.run.model).score = score;
    c.run.model.dropout = 0.1;
    c.run.model.attention_dropout = 0.2;
    c.graphs.random = 3;
    return c;
  }
  GraphConfig graphormer(bool virtual_node) const {
    GraphConfig c = drawing(LinkScoring::dot);
    graph_options(c.run.model).form = GraphFormKind::graphormer;
    graph_options(c.run.model).farthest = 3;
    graph_options(c.run.model).degrees = 4;
    graph_options(c.run.model).virtual_node = virtual_node;
    return c;
  }
  GraphConfig plain() const {
    GraphConfig c = small(nodes_);
    graph_options(c.run.model).form = GraphFormKind::plain;
    graph_options(c.run.model).score = LinkScoring::gat;
    graph_options(c.run.model).mean_of_bags = true;
    c.run.train.global_batch = 4;
    c.run.model.dropout = 0.3;
    return c;
  }

  const std::string store_ = write_graphs(folder_.file("graphs.h5")),
                    nodes_ = write_nodes(folder_.file("nodes.h5"));
};

TEST_F(GraphTasks, ClassesOfGraphsAreLearnt) {
  GraphConfig c = small(store_);
  c.run.train.steps = 100;
  const Scores scores = run(c).validation;
  EXPECT_EQ(value(scores, "accuracy"), 1) << scores.text;
  EXPECT_EQ(scores.quality, 1);
  EXPECT_NE(scores.text.find("(12 graphs)"), std::string::npos) << scores.text;
}

TEST_F(GraphTasks, ClassesOfGraphsAreLearntByDistances) {
  GraphConfig c = graphormer(true);
  c.graphs.inputs = {"one"};
  c.run.model.dropout = c.run.model.attention_dropout = 0;
  c.run.train.steps = 100;
  const Scores scores = run(c).validation;
  EXPECT_EQ(value(scores, "accuracy"), 1) << scores.text;
}

// Rings, paths and stars of as many nodes have the same kinds of nodes; who sees no link guesses.
TEST_F(GraphTasks, NumbersOfGraphsAreLearnt) {
  const std::string store = write_graphs(folder_.file("numbers.h5"), {.numbers = true});
  GraphConfig c = small(store);
  graph_options(c.run.model).pool = GraphPool::sum;
  c.run.train.steps = 150;
  const Scores scores = run(c, 1, "numbers").validation;
  EXPECT_LT(value(scores, "rmse"), 0.3) << scores.text;
  EXPECT_LE(value(scores, "absolute_error"), value(scores, "rmse"));
  EXPECT_EQ(scores.quality, -value(scores, "rmse"));
  const auto alone = single_rank();
  const TrainedModel source = open_trained_model(folder_.file("numbers"), 0, *alone);
  GraphPartConfig part;
  EXPECT_EQ(evaluate_graphs({store}, part, source, {}, 5, *alone).back().second, 12) << "of test";
  part.choice.use = data::GraphUse::validation;
  const NamedValues found = evaluate_graphs({store}, part, source, {}, 5, *alone);
  EXPECT_EQ(value_named(found, "rmse"), value(scores, "rmse"));
  part.choice.fold = 2;
  expect_error(ExitCode::usage, {"graph.fold=2, but the split of", "is train, validation, test"},
               [&] { evaluate_graphs({store}, part, source, {}, 5, *alone); });
}

TEST_F(GraphTasks, NodesOfOneGraphAreLearnt) {
  for (const LinkScoring score : {LinkScoring::gat, LinkScoring::mean}) {
    GraphConfig c = plain();
    graph_options(c.run.model).score = score;
    c.run.train.global_batch = 1;
    c.run.train.micro_batch = 1;
    c.run.train.steps = 150;
    const Scores scores = run(c).validation;
    EXPECT_GE(value(scores, "accuracy"), 0.87) << scores.text;
    EXPECT_NE(scores.text.find("(8 nodes)"), std::string::npos) << scores.text;
  }
}

TEST_F(GraphTasks, GiveEqualBitsAtEveryLayout) {
  for (const LinkScoring score : {LinkScoring::dot, LinkScoring::gat2, LinkScoring::symmetric})
    expect_equal_bits(drawing(score), fmt::format("graphs{}", static_cast<int>(score)),
                      {{2, 1, 2}, {4, 1, 1, true}, {1, 2, 1}, {2, 2, 2, true}});
}

TEST_F(GraphTasks, OfNodesGiveEqualBitsAtEveryLayout) {
  expect_equal_bits(plain(), "plain", {{2, 1, 1}, {4, 1, 1, true}, {1, 2, 1}, {2, 2, 1, true}});
  GraphConfig c = plain();
  c.run.train.precision = DType::bf16;
  expect_equal_bits(c, "bf16", {{2, 1, 1}, {2, 2, 1, true}});
}

// The first layer has nothing that learns.
TEST_F(GraphTasks, OfMeansWithoutBiasesGiveEqualBitsAtEveryLayout) {
  GraphConfig c = plain();
  c.run.model.bias = false;
  graph_options(c.run.model).score = LinkScoring::mean;
  expect_equal_bits(c, "means", {{2, 1, 1}, {1, 2, 1}, {2, 2, 1, true}});
}

TEST_F(GraphTasks, OfDistancesGiveEqualBitsAtEveryLayout) {
  for (const bool virtual_node : {true, false})
    expect_equal_bits(graphormer(virtual_node), fmt::format("distances{}", virtual_node),
                      {{2, 1, 2}, {4, 1, 1, true}, {1, 2, 1}, {2, 2, 2, true}});
}

TEST_F(GraphTasks, RecomputationChangesNoBit) {
  for (GraphConfig c : {drawing(LinkScoring::gat), plain(), graphormer(true)}) {
    const Ended kept = run(c);
    for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
      c.run.parallel.recompute = recompute;
      EXPECT_EQ(run(c).finished.losses, kept.finished.losses);
    }
  }
}

TEST_F(GraphTasks, TensorParallelRanksAgree) {
  for (const LinkScoring score : {LinkScoring::dot, LinkScoring::gat, LinkScoring::mean}) {
    GraphConfig c = drawing(score);
    const Ended expected = run(c);
    c.run.parallel.tensor = 2;
    const Ended found = run(c, 2);
    for (size_t i = 0; i < expected.finished.losses.size(); ++i)
      EXPECT_NEAR(found.finished.losses[i], expected.finished.losses[i], 1e-4);
  }
  GraphConfig c = graphormer(true);
  const Ended expected = run(c);
  c.run.parallel.tensor = 2;
  const Ended found = run(c, 2);
  for (size_t i = 0; i < expected.finished.losses.size(); ++i)
    EXPECT_NEAR(found.finished.losses[i], expected.finished.losses[i], 1e-5);
  c = plain();
  c.run.parallel.tensor = 2;
  expect_error(ExitCode::usage, {"heads that are not projected do not divide"}, [&] { run(c, 2); });
  c = small(store_);
  c.run.parallel.tensor = 2;
  c.run.parallel.sequence = true;
  expect_error(ExitCode::usage, {"parallel.sequence is for models that read texts", "reads graphs"},
               [&] { run(c, 2); });
}

TEST_F(GraphTasks, GoOnWithEqualBits) {
  expect_to_go_on_with_equal_bits(drawing(LinkScoring::dot));
}

TEST_F(GraphTasks, OfDistancesGoOnWithEqualBits) {
  expect_to_go_on_with_equal_bits(graphormer(true));
}

TEST_F(GraphTasks, OfNodesGoOnWithEqualBits) { expect_to_go_on_with_equal_bits(plain()); }

// The same parts of the data, whatever fold is the test, are in one of three.
TEST_F(GraphTasks, FoldsAreTheTestInTurn) {
  const std::string store = write_graphs(folder_.file("folds.h5"), {.split = false, .folds = 4});
  GraphConfig c = small(store);
  expect_error(ExitCode::usage, {"is split in 4 folds", "graph.fold=1 to 4, not 0"},
               [&] { task(c); });
  c.graphs.fold = 5;
  expect_error(ExitCode::usage, {"graph.fold=1 to 4, not 5"}, [&] { task(c); });
  std::vector<int64_t> seen(60);
  for (int64_t fold = 1; fold <= 4; ++fold) {
    const data::GraphBlend blend = open_graphs({store});
    int64_t all = 0;
    for (const data::GraphUse use :
         {data::GraphUse::training, data::GraphUse::validation, data::GraphUse::test})
      for (const data::GraphUnit& unit : chosen_units(blend, {}, {use, fold})) {
        seen[static_cast<size_t>(unit.record)] += use == data::GraphUse::test;
        ++all;
      }
    EXPECT_EQ(all, 60);
  }
  EXPECT_EQ(seen, std::vector<int64_t>(60, 1));
}

// Laplacian vectors turn and random numbers change from epoch to epoch, and not where they judge.
TEST_F(GraphTasks, WhatIsDrawnIsDrawnAnewInEachEpoch) {
  GraphConfig c = small(store_);
  c.graphs.inputs = {"node_laplacian"};
  c.graphs.random = 1;
  c.run.data.shuffle = false;
  const auto made = task(c);
  int64_t turned = 0, kept = 0, same = 0;
  const data::Batch first = made->samples().batch(0, 36), later = made->samples().batch(36, 36);
  EXPECT_EQ(first.features.dim(2), 3);
  const auto one = first.features.span<float>(), other = later.features.span<float>();
  for (size_t i = 0; i < one.size(); ++i) {
    if (one[i] == 0) continue;
    if (i % 3 == 2)
      same += one[i] == other[i];
    else
      (one[i] == other[i] ? kept : turned) += 1;
    if (i % 3 < 2) {
      EXPECT_EQ(std::abs(one[i]), std::abs(other[i]));
    }
  }
  EXPECT_GT(turned, 50);
  EXPECT_GT(kept, 50);
  EXPECT_EQ(same, 0);
  EXPECT_EQ(made->samples().batch(5, 1).features.span<float>()[2],
            first.features.rows(5, 6).span<float>()[2]);
}

TEST_F(GraphTasks, RandomNumbersAreThoseOfLaterEvaluations) {
  GraphConfig c = small(store_);
  c.graphs.random = 2;
  c.run.train.seed = 7;
  const Ended found = run(c, 1, "random");
  const auto alone = single_rank();
  const TrainedModel source = open_trained_model(folder_.file("random"), 0, *alone);
  EXPECT_EQ(
      value(found.validation, "loss"),
      value_named(evaluate_graphs({store_}, {{data::GraphUse::validation}}, source, {}, 16, *alone),
                  "loss"));
}

TEST_F(GraphTasks, WarnOfStepsWithASampleManyTimes) {
  GraphConfig c = small(nodes_);
  const auto warned = [&] {
    testing::internal::CaptureStderr();
    task(c);
    return testing::internal::GetCapturedStderr().find(
               "a step takes 16 samples (train.global_batch), but data.train has 1, which") !=
           std::string::npos;
  };
  EXPECT_TRUE(warned());
  c.run.train.global_batch = 1;
  EXPECT_FALSE(warned());
}

TEST_F(GraphTasks, RefuseWhatDoesNotFit) {
  const auto refused = [&](const GraphConfig& c, std::initializer_list<std::string> words) {
    expect_error(ExitCode::usage, words, [&] {
      GraphConfig own = c;
      task(own);
    });
  };
  GraphConfig c = small(store_);
  c.run.data.train = {};
  refused(c, {"data.train names no store of graphs"});
  c = small(write_graphs(folder_.file("bare.h5"), {.labelled = false}));
  refused(c, {"bare.h5 has no labels of nodes (its column node_label)"});
  c = small(store_);
  c.graphs.target = GraphTarget::nodes;
  refused(c, {"graphs.h5 has no labels of nodes"});
  c = small(store_);
  c.graphs.inputs = {"node_number"};
  refused(c, {"graph.inputs names \"node_number\"", "it has link_category, node_category"});
  c.graphs.inputs = {"one"};
  EXPECT_EQ(task(c)->samples().batch(0, 1).bags.dim(2), 1);
  c = small(store_);
  c.graphs.inputs = {"link_category"};
  graph_options(c.run.model).score = LinkScoring::mean;
  refused(c, {"graph.inputs names \"link_category\", of which this model makes nothing"});
  c = graphormer(false);
  c.graphs.inputs = {"one"};
  EXPECT_TRUE(task(c)->samples().batch(0, 1).distances.defined());
  c.run.data.train = {write_graphs(folder_.file("near.h5"), {.distances = false})};
  refused(c, {"near.h5 has no distances of nodes (its column pair_distance), which this model",
              "make it again with `skein-data graphs --graphs.distances=true`"});
  c.run.data.validation = c.run.data.train;
  c.run.data.train = {store_};
  refused(c, {"near.h5 has no distances of nodes", "which data.train reads"});
  c = small(store_);
  c.graphs.random = -1;
  refused(c, {"graph.random=-1 must be 0 to 65536"});
  c = small(store_);
  c.graphs.fold = 2;
  refused(c, {"graph.fold=2, but the split of", "train, validation, test"});
  c = small(store_);
  c.run.data.validation = {write_graphs(folder_.file("kinds.h5"), {.first_kind = "c"})};
  refused(c, {"the categories of node_category have other names in", "than data.train knows"});
  c.run.data.validation = {nodes_};
  refused(c, {"nodes.h5 has no"});
  c.run.data.validation = {write_graphs(folder_.file("numbers.h5"), {.numbers = true})};
  refused(c, {"numbers.h5 has the classes", "but data.train has 0, 1, 2"});
  c = small(write_graphs(folder_.file("numbers.h5"), {.numbers = true}));
  c.run.loss.label_smoothing = 0.1;
  refused(c, {"loss.label_smoothing=0.1 is for classes, but these graphs have numbers"});
  c = small(store_);
  c.run.model.labels = 7;
  refused(c, {"model.labels=7 are not what these graphs have: 3 a graph"});
}

TEST_F(GraphTasks, GoOnWithWhatTheyLearntOnly) {
  GraphConfig c = small(store_);
  run(c, 1, "run");
  c.graphs.inputs = {"node_category", "node_walk"};
  EXPECT_NE(error_of(c, "run").find("graph.inputs"), std::string::npos) << error_of(c, "run");
}

using OnGpuGraphTasks = GraphTasks;

TEST_F(OnGpuGraphTasks, FollowTheCpu) {
  for (const LinkScoring score : {LinkScoring::dot, LinkScoring::gat, LinkScoring::gat2,
                                  LinkScoring::mean, LinkScoring::symmetric}) {
    SCOPED_TRACE(static_cast<int>(score));
    GraphConfig c = drawing(score);
    c.run.train.global_batch = 4;
    expect_gpu_to_follow(c);
  }
  GraphConfig c = plain();
  c.run.train.global_batch = 1;
  expect_gpu_to_follow(c);
  GraphConfig whole = graphormer(true);
  whole.run.train.global_batch = 4;
  expect_gpu_to_follow(whole);
}

}  // namespace
}  // namespace skein::train
