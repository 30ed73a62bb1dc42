// Runs over all folds: each is what one run of that fold is, and they go on where they were.
#include "skein/train/pretraining/fold_runs.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "skein/core/json.h"
#include "skein/models/gnn/gnn.h"
#include "skein/train/graphs/trained_graph_model.h"

#include "support/expect_error.h"
#include "train/graphs/graph_config.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::expect_error;

class FoldsOfGraphs : public testing::Test {
 protected:
  PretrainTaskConfig config(const std::string& dir) const {
    PretrainTaskConfig made;
    made.run = small_graph_run(store_).run;
    made.run.train.steps = 12;
    made.run.checkpoint.every = 4;
    made.run.run.dir = folder_.file(dir);
    return made;
  }
  FoldRuns train_all(const PretrainTaskConfig& config, int ranks = 1) const {
    FoldRuns found;
    run_ranks(ranks, [&](Group& world) {
      PretrainTaskConfig own = config;
      Options options("test", "");
      bind(options, own);
      const FoldRuns made = train_folds(options, own, world);
      if (world.rank() == 0) found = made;
    });
    return found;
  }
  static void expect_equal(const FoldRuns& left, const FoldRuns& right) {
    ASSERT_EQ(left.folds.size(), right.folds.size());
    for (size_t i = 0; i < left.folds.size(); ++i)
      EXPECT_EQ(left.folds[i].values, right.folds[i].values) << i;
  }

  test::Scratch folder_;
  const std::string store_ = write_graphs(folder_.file("folds.h5"), {.split = false, .folds = 3});
};

TEST_F(FoldsOfGraphs, AreWhatSingleRunsAre) {
  const PretrainTaskConfig all = config("all");
  const FoldRuns found = train_all(all);
  ASSERT_EQ(found.folds.size(), 3u);
  EXPECT_FALSE(found.stopped);
  for (int64_t fold = 1; fold <= 3; ++fold) {
    EXPECT_EQ(found.folds[fold - 1].fold, fold);
    EXPECT_EQ(found.folds[fold - 1].step, 12);
    EXPECT_EQ(value_named(found.folds[fold - 1].values, "samples"), 20);
  }
  const auto alone = single_rank();
  GraphConfig one = small_graph_run(store_);
  one.run = config("one").run;
  one.graphs.fold = 2;
  const auto task = graph_task(one.run, one.graphs);
  train(one.run, *task, *alone);
  const TrainedModel source = open_trained_model(folder_.file("one"), 0, *alone);
  EXPECT_EQ(evaluate_graphs({store_}, {{data::GraphUse::test, 2}}, source, {}, 5, *alone),
            found.folds[1].values);
  expect_equal(train_all(config("ranks"), 2), found);
}

TEST_F(FoldsOfGraphs, AreJudgedByDrawnNeighboursToo) {
  PretrainTaskConfig c = config("drawn");
  c.run.data.train = {write_nodes(folder_.file("nodes.h5"), 3)};
  c.run.train.steps = 2;
  c.graphs.neighbours = {1, 1};
  const FoldRuns found = train_all(c);
  const auto alone = single_rank();
  const TrainedModel source = open_trained_model(folder_.file("drawn/fold-2"), 0, *alone);
  EXPECT_EQ(
      evaluate_graphs(c.run.data.train, {{data::GraphUse::test, 2}, {1, 1}}, source, {}, 5, *alone),
      found.folds[1].values);
}

TEST_F(FoldsOfGraphs, GoOn) {
  const FoldRuns whole = train_all(config("whole"));
  PretrainTaskConfig part = config("part");
  part.run.run.stop_at = 8;
  const FoldRuns stopped = train_all(part);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_TRUE(stopped.committed);
  EXPECT_TRUE(stopped.folds.empty());
  const FoldRuns rest = train_all(config("part"));
  expect_equal(rest, whole);
  EXPECT_FALSE(rest.stopped);
  expect_equal(train_all(config("part")), whole);
}

TEST_F(FoldsOfGraphs, HaveAMeanAndADeviation) {
  const std::vector<FoldScores> folds{{1, 10, {{"accuracy", 0.5}, {"loss", 1}}},
                                      {2, 12, {{"accuracy", 0.75}, {"loss", 3}}},
                                      {3, 14, {{"accuracy", 1}, {"loss", 2}}}};
  const std::vector<FoldMean> means = means_of(folds);
  ASSERT_EQ(means.size(), 2u);
  EXPECT_EQ(means[0].name, "accuracy");
  EXPECT_DOUBLE_EQ(means[0].mean, 0.75);
  EXPECT_DOUBLE_EQ(means[0].deviation, 0.25);
  EXPECT_DOUBLE_EQ(means[1].deviation, 1);
  EXPECT_EQ(means_of({folds[0]})[0].deviation, 0);
  const auto json = nlohmann::json::parse(folds_json(folds));
  EXPECT_EQ(json.at("folds").size(), 3u);
  EXPECT_EQ(json.at("folds")[1].at("step"), 12);
  EXPECT_EQ(json.at("mean").at("accuracy"), 0.75);
  EXPECT_EQ(json.at("deviation").at("loss"), 1);
  EXPECT_NE(folds_table(folds).find("\ndeviation"), std::string::npos) << folds_table(folds);
}

TEST_F(FoldsOfGraphs, RefuseWhatHasNone) {
  const auto refused = [&](const PretrainTaskConfig& c, std::initializer_list<std::string> words) {
    expect_error(ExitCode::usage, words, [&] { train_all(c); });
  };
  PretrainTaskConfig c = config("none");
  c.graphs.fold = 2;
  refused(c, {"graph.fold=2, but all folds are the test in turn"});
  c = config("none");
  c.run.run.dir = "";
  refused(c, {"run.dir is empty"});
  c = config("none");
  c.run.model.architecture = ModelConfig{}.architecture;
  refused(c, {"folds are those of stores of graphs, but model.architecture=gpt reads texts"});
  c = config("none");
  c.run.data.train = {};
  refused(c, {"data.train names no store of graphs"});
  c.run.data.train = {write_graphs(folder_.file("split.h5"))};
  refused(c, {"split.h5 has no folds; make it with graphs.folds=10"});
  c.run.data.train = {store_, write_graphs(folder_.file("four.h5"), {.split = false, .folds = 4})};
  refused(c, {"four.h5 is split in 4 folds, but", "folds.h5 in 3"});
  EXPECT_FALSE(std::filesystem::exists(folder_.file("none")));
}

}  // namespace
}  // namespace skein::train
