// Sweeps of models that read pictures, graphs and stories.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "skein/data/stories/story_store.h"
#include "skein/models/gnn/gnn.h"
#include "skein/models/memory_network/memory_network.h"
#include "skein/models/swin/swin.h"
#include "skein/models/transformer/transformer.h"
#include "skein/models/vit/vit.h"
#include "skein/scaling/sweep/sweep.h"
#include "skein/train/trainer.h"

#include "scaling/sweep_fixture.h"
#include "support/expect_error.h"
#include "train/graphs/graph_stores.h"
#include "train/tasks/picture_stores.h"

namespace skein::scaling::sweep {
namespace {

class SweepsOfReaders : public testing::Test {
 protected:
  SweepConfig config(const Architecture& architecture, const std::string& dir) const {
    SweepConfig c = sweep_defaults();
    c.shape.d_head = 8;
    c.run.model.architecture = &architecture;
    c.run.model.d_model = 16;
    c.run.model.n_layers = 1;
    c.run.model.n_heads = 2;
    c.run.train.global_batch = 8;
    c.run.train.micro_batch = 2;
    c.run.validation.points = 3;
    c.run.lr.lr = 5e-3;
    c.run.run.dir = at(dir);
    return c;
  }
  // 17 tokens a picture, 96 pictures.
  SweepConfig pictures(const std::string& dir) const {
    SweepConfig c = config(vit_architecture(), dir);
    c.shapes = {"1x8", "2x16"};
    c.tokens = {"1360", "2720"};
    picture_options(c.run.model).patch_height = 2;
    c.run.data.train = {train::write_pictures(at(dir + "-train.h5"))};
    c.run.data.validation = {train::write_pictures(at(dir + "-valid.h5"), {.count = 24})};
    return settled(c);
  }
  // 9 nodes at most a graph, of which 36 are learnt.
  SweepConfig graphs(const std::string& dir) const {
    SweepConfig c = config(gnn_architecture(), dir);
    c.shapes = {"1x16", "2x16"};
    c.tokens = {"1440"};
    c.seeds = {1, 2};
    c.graphs.inputs = {"node_category"};
    c.run.model.init_std = 0.1;
    c.run.data.train = {train::write_graphs(at(dir + ".h5"))};
    return settled(c);
  }
  std::string story_store() const {
    const std::string text = at("rooms_train.txt"), store = at("stories.h5");
    std::ofstream(text) << "1 Ann went to the hall.\n2 Ben went to the attic.\n"
                           "3 Where is Ann?\thall\t1\n4 Where is Ben?\tattic\t2\n";
    data::write_stories({.files = {.inputs = {text}}, .vocabulary = "", .output = store});
    return store;
  }
  std::string at(const std::string& name) const { return folder_.file(name); }
  std::string table(const std::string& dir) const { return table_without_seconds(at(dir)); }

  // A cell is what a run of its options is.
  void expect_single_run(const SweepConfig& c, const ScalingRun& row) const {
    for (SweepCell& cell : make_design(c).cells) {
      if (cell.name != row.name) continue;
      cell.run.run.dir = at("single-" + cell.name);
      train::PretrainTaskConfig own{.run = cell.run, .augment = c.augment, .graphs = c.graphs};
      const auto task = pretraining_task(own);
      const auto result = train::train(own.run, *task, *single_rank());
      EXPECT_EQ(value_named(result.validation.values, "loss"), row.loss);
      return;
    }
    ADD_FAILURE() << "no cell " << row.name;
  }

  test::Scratch folder_;
};

TEST_F(SweepsOfReaders, PicturesMakeTheSameRowsAtEveryLayout) {
  const SweepConfig c = pictures("one");
  const SweepResult result = sweep_by(1, c);
  ASSERT_EQ(result.count("done"), 4);
  const ScalingRun& longest = result.runs.back();
  EXPECT_EQ(longest.tokens, 2720);
  EXPECT_EQ(longest.unique_tokens, 96 * 17);
  EXPECT_EQ(longest.context, 17);
  EXPECT_EQ(longest.n_head, 16 * 3 + 3);
  EXPECT_GT(longest.flops_exact, 0);
  expect_single_run(c, longest);
  SweepConfig other = c;
  other.run.run.dir = at("two");
  other.ranks_per_run = 2;
  sweep_by(4, other);
  EXPECT_EQ(table("one"), table("two"));
  EXPECT_EQ(sweep_by(1, c).trained, 0);
}

TEST_F(SweepsOfReaders, GraphsGoByTheirInputsAndSeeds) {
  SweepConfig c = graphs("graphs");
  const SweepResult result = sweep_by(2, c);
  ASSERT_EQ(result.count("done"), 4);
  EXPECT_EQ(result.runs[0].context, 9);
  EXPECT_NE(result.runs[0].loss, result.runs[1].loss) << "another seed";
  expect_single_run(c, result.runs[3]);
  const auto settings = read_store_settings(at("graphs/results.h5"));
  EXPECT_EQ(settings[0].at("graph.inputs"), "node_category");
  c.graphs.inputs = {"node_category", "node_walk"};
  test::expect_error(ExitCode::usage, {"was begun with graph.inputs=node_category, now it is"},
                     [&] { sweep_by(1, c); });
}

// Of words a loss above that of all alike is a divergence.
TEST_F(SweepsOfReaders, LabelsMayBeWorseThanGuesses) {
  SweepConfig c = pictures("wrong");
  c.shapes = {"2x16"};
  c.tokens = {"27k"};
  c.run.data.validation = {train::write_pictures(at("wrong.h5"), {.count = 24, .wrong = 1})};
  const SweepResult result = sweep_by(1, c);
  EXPECT_GT(result.runs[0].loss, std::log(3));
  EXPECT_EQ(result.runs[0].status, "done") << result.runs[0].reason;
}

TEST_F(SweepsOfReaders, StoriesAreLearntByRatesAndForecast) {
  SweepConfig c = config(memory_architecture(), "stories");
  c.run.model.n_heads = ModelConfig{}.n_heads;
  c.lr = {"1e-2", "1e-1"};
  c.run.data.train = c.run.data.validation = {story_store()};
  c.tokens = {"4k"};
  c = settled(c);
  c.flops_per_second = 1e9;
  test::expect_words(forecast_text(c, *single_rank()), {"2 cells", "held-out evaluations of"});
  EXPECT_EQ(sweep_by(1, c).count("done"), 2);
}

TEST_F(SweepsOfReaders, TheForecastMeasuresThem) {
  SweepConfig c = graphs("forecast");
  test::expect_words(forecast_text(c, *single_rank()), {"4 cells", "as measured here"});
  EXPECT_FALSE(std::filesystem::exists(at("forecast")));
}

TEST_F(SweepsOfReaders, WhatCannotBeIsRefusedByName) {
  const auto refused = [](SweepConfig c, std::initializer_list<std::string> words) {
    c.flops_per_second = 1e9;
    test::expect_error(ExitCode::usage, words, [&] { forecast_text(settled(c), *single_rank()); });
  };
  SweepConfig c = config(transformer_architecture(), "none");
  refused(c, {"model.architecture=transformer", "not of encoder-decoders"});
  c = graphs("split");
  c.run.data.train = {train::write_graphs(at("all.h5"), {.split = false})};
  refused(c, {"data.validation is empty"});
  c = config(swin_architecture(), "swin");
  c.tokens = {"10k"};
  c.shapes = {"3x16"};
  c.run.data.train = c.run.data.validation = {train::write_pictures(at("swin.h5"))};
  picture_options(c.run.model).patch_height = 2;
  swin_options(c.run.model) = {.depths = {1, 1}, .window_side = 2};
  refused(c, {"model.n_layers=3", "model.depths=1,1"});
  c = config(memory_architecture(), "memory");
  c.tokens = {"4k"};
  c.sizes = {"10k"};
  c.run.data.train = c.run.data.validation = {story_store()};
  refused(c, {"model.architecture=memory", "has none; leave them out"});
}

}  // namespace
}  // namespace skein::scaling::sweep
