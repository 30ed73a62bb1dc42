// Neighbours that are drawn: where they are all, a node is told what it is told in its whole graph.
#include <gtest/gtest.h>

#include "skein/train/graphs/trained_graph_model.h"

#include "support/expect_error.h"
#include "train/graphs/graph_config.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::expect_error;

class DrawnNeighbours : public test::TaskRuns<GraphConfig> {
 protected:
  std::unique_ptr<Task> task(GraphConfig& c) const override { return graph_task(c.run, c.graphs); }

  GraphConfig whole(GraphFormKind form, LinkScoring score) const {
    GraphConfig c = small_graph_run(nodes_);
    graph_options(c.run.model).form = form;
    graph_options(c.run.model).score = score;
    c.run.train.global_batch = 1;
    c.run.train.micro_batch = 1;
    c.run.train.steps = 4;
    c.run.validation.every = 1;
    return c;
  }
  // A sample is one of the 8 nodes to learn.
  static GraphConfig drawn(GraphConfig c, std::vector<int64_t> neighbours) {
    c.graphs.neighbours = std::move(neighbours);
    c.run.train.global_batch = 8;
    c.run.train.micro_batch = 4;
    return c;
  }
  // What the model of the folder `whole` says of each node.
  std::vector<float> answers(const std::vector<int64_t>& neighbours, int64_t batch) const {
    std::vector<float> made;
    run_ranks(1, [&](Group& world) {
      const TrainedModel source = open_trained_model(folder_.file("whole"), 0, world);
      TrainedGraphModel model(source, {}, DType::f32, batch, world);
      const auto samples = model.samples({nodes_}, {data::GraphUse::all}, neighbours);
      const Tensor scores = model.answers(samples).scores;
      EXPECT_EQ(samples.units().size(), neighbours.empty() ? 1u : 40u);
      made = {scores.span<float>().begin(), scores.span<float>().end()};
    });
    return made;
  }

  const std::string nodes_ = write_nodes(folder_.file("nodes.h5"));
};

constexpr std::pair<GraphFormKind, LinkScoring> kModels[] = {
    {GraphFormKind::blocks, LinkScoring::dot},
    {GraphFormKind::blocks, LinkScoring::gat2},
    {GraphFormKind::plain, LinkScoring::gat},
    {GraphFormKind::plain, LinkScoring::mean},
    {GraphFormKind::plain, LinkScoring::symmetric}};

TEST_F(DrawnNeighbours, AreTheWholeGraphWhereTheyAreAll) {
  for (const auto& [form, score] : kModels) {
    const GraphConfig c = whole(form, score);
    const Ended expected = run(c, 1, "whole"), found = run(drawn(c, {9, 9}));
    for (size_t i = 0; i < expected.finished.losses.size(); ++i) {
      EXPECT_NEAR(found.finished.losses[i], expected.finished.losses[i], 1e-5);
      EXPECT_NEAR(found.finished.grad_norms[i], expected.finished.grad_norms[i], 1e-4);
    }
    const std::vector<float> all = answers({}, 1), near = answers({9, 9}, 7), few = answers({9}, 7);
    ASSERT_EQ(all.size(), near.size());
    bool differ = false;
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_NEAR(near[i], all[i], 1e-5) << i;
      differ = differ || std::abs(few[i] - all[i]) > 1e-4;
    }
    EXPECT_TRUE(differ) << "one hop is less than two layers see";
    std::filesystem::remove_all(folder_.file("whole"));
  }
}

TEST_F(DrawnNeighbours, LearnWithTheSameBitsAtEveryLayout) {
  GraphConfig c = drawn(whole(GraphFormKind::blocks, LinkScoring::dot), {2, 1});
  c.run.model.dropout = 0.1;
  c.run.model.attention_dropout = 0.2;
  c.graphs.random = 2;
  expect_equal_bits(c, "drawn", {{.data = 2}, {.pipeline = 2}, {.micro_batch = 1}});
}

TEST_F(DrawnNeighbours, GoOnWithEqualBits) {
  expect_to_go_on_with_equal_bits(drawn(whole(GraphFormKind::plain, LinkScoring::gat), {2, 2}));
}

TEST_F(DrawnNeighbours, ThatChangeAreNoticed) {
  GraphConfig c = drawn(whole(GraphFormKind::plain, LinkScoring::gat), {2, 2});
  const auto first = task(c), again = task(c);
  c.graphs.neighbours = {2, 3};
  const auto other = task(c);
  testing::internal::CaptureStderr();
  again->check_notes(first->notes(), "before");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  other->check_notes(first->notes(), "before");
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "the training samples are not those that before was trained on"),
            std::string::npos);
}

TEST_F(DrawnNeighbours, AreWhatARunIsJudgedBy) {
  const GraphConfig c = drawn(whole(GraphFormKind::blocks, LinkScoring::dot), {1, 1});
  const Ended found = run(c, 1, "drawn");
  const auto alone = single_rank();
  const TrainedModel source = open_trained_model(folder_.file("drawn"), 0, *alone);
  const auto loss = [&](const std::vector<int64_t>& neighbours) {
    const GraphPartConfig part{{data::GraphUse::validation}, neighbours};
    return value_named(evaluate_graphs({nodes_}, part, source, {}, 4, *alone), "loss");
  };
  EXPECT_EQ(value(found.validation, "loss"), loss({1, 1}));
  EXPECT_NE(value(found.validation, "loss"), loss({}));
}

TEST_F(DrawnNeighbours, LearnAsWellAsWholeGraphs) {
  GraphConfig c = drawn(whole(GraphFormKind::plain, LinkScoring::gat), {2, 2});
  c.run.train.steps = 60;
  EXPECT_GE(value(run(c).validation, "accuracy"), 0.8);
}

TEST_F(DrawnNeighbours, MustFitWhatIsLearnt) {
  GraphConfig c = drawn(whole(GraphFormKind::blocks, LinkScoring::dot), {2, 0});
  expect_error(ExitCode::usage, {"graph.neighbours=2,0: 0 must be 1 to 1048576"}, [&] { task(c); });
  c.graphs.neighbours.assign(17, 1);
  expect_error(ExitCode::usage, {"are 17 hops; 16 are the most"}, [&] { task(c); });
  const std::string graphs = write_graphs(folder_.file("graphs.h5"), {.hides_links = true});
  c.graphs.neighbours = {2};
  c.run.data.train = {graphs};
  expect_error(ExitCode::usage,
               {"graph.neighbours=2 draws neighbours of nodes", "labels of graphs"},
               [&] { task(c); });
  c.graphs.target = GraphTarget::links;
  expect_error(ExitCode::usage, {"here it is links that are"}, [&] { task(c); });
}

}  // namespace
}  // namespace skein::train
