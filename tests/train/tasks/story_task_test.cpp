// Models of stories learn to answer, to the same bits at every layout, and go on where they were.
#include "skein/train/tasks/story_task.h"

#include <array>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

#include "skein/models/memory_network/memory_network.h"
#include "skein/train/evaluations/evaluate_stories.h"
#include "skein/train/evaluations/story_model.h"

#include "support/expect_error.h"
#include "train/task_run.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::expect_error;

struct StoryConfig {
  PretrainConfig run;
  StoryTaskConfig stories;
};

// Three people go from room to room, and one is asked for, whose last move says where they are.
std::string made_stories(int count) {
  const char *const names[] = {"Ann", "Ben", "Cleo"}, *const rooms[] = {"hall", "attic", "garden"};
  std::mt19937 random(5);
  std::string made;
  for (int story = 0; story < count; ++story) {
    std::array<std::pair<int, int>, 3> last{};  // line and room
    for (int line = 1; line <= 4; ++line) {
      const int who = static_cast<int>(random() % 3), room = static_cast<int>(random() % 3);
      last[who] = {line, room};
      made += fmt::format("{} {} went to the {}.\n", line, names[who], rooms[room]);
    }
    int asked = static_cast<int>(random() % 3);
    while (last[asked].first == 0) asked = (asked + 1) % 3;
    made += fmt::format("5 Where is {}?\t{}\t{}\n", names[asked], rooms[last[asked].second],
                        last[asked].first);
  }
  return made;
}

class StoryTasks : public test::TaskRuns<StoryConfig> {
 protected:
  std::unique_ptr<Task> task(StoryConfig& c) const override { return story_task(c.run, c.stories); }

  std::string store(const std::string& name, const std::string& text,
                    const std::string& vocabulary = "") const {
    const std::string source = folder_.file(name + "_train.txt");
    std::ofstream(source) << text;
    data::write_stories({.files = {.inputs = {source}},
                         .vocabulary = vocabulary,
                         .output = folder_.file(name + ".h5")});
    return folder_.file(name + ".h5");
  }

  StoryConfig small() const {
    StoryConfig c;
    c.run.model.architecture = &memory_architecture();
    c.run.model.d_model = 12;
    c.run.model.n_layers = 2;
    c.run.model.init_std = 0.2;
    c.run.train.steps = 6;
    c.run.train.global_batch = 16;
    c.run.lr.lr = 1e-2;
    c.run.lr.warmup = 2;
    c.run.validation.every = 0;
    c.run.optimizer.clip = 40;
    c.run.optimizer.weight_decay = 0;
    c.run.run.log_every = 1000;
    c.run.run.tensorboard = false;
    c.run.checkpoint.async = true;
    c.run.data.train = c.run.data.validation = {store_};
    return c;
  }

  const std::string store_ = store("rooms", made_stories(300));
};

TEST_F(StoryTasks, AnswersAreLearntFromTheSupport) {
  StoryConfig c = small();
  c.run.train.steps = 800;
  const Ended ended = run(c, 1, "learnt");
  EXPECT_EQ(value(ended.validation, "accuracy"), 1) << ended.validation.text;
  EXPECT_EQ(value(ended.validation, "mean_error"), 0);
  EXPECT_EQ(value(ended.validation, "error_rooms"), 0);
  EXPECT_EQ(ended.validation.quality, 1);
  for (const int ranks : {1, 2}) {
    run_ranks(ranks, [&](Group& world) {
      const TrainedModel source = open_trained_model(folder_.file("learnt"), 0, world);
      ParallelConfig parallel;
      parallel.pipeline = ranks;
      const NamedValues values = evaluate_stories({store_}, source, parallel, 7, world);
      EXPECT_EQ(value_named(values, "accuracy"), 1);
      EXPECT_GT(value_named(values, "any_hop_on_support"), 0.9);
      EXPECT_GE(value_named(values, "any_hop_on_support"), value_named(values, "hop_2_on_support"));
      StoryModel model(source, parallel, DType::f32, 4, world);
      const data::StorySamples samples = model.samples({store_});
      const StoryAnswer answer = model.answer(samples, model.answers(samples), 5);
      EXPECT_EQ(answer.said, answer.truth);
      ASSERT_EQ(answer.weights.size(), 2u);
      for (const auto& hop : answer.weights) {
        ASSERT_EQ(hop.size(), 4u);
        EXPECT_NEAR(hop[0] + hop[1] + hop[2] + hop[3], 1, 1e-5);
      }
      EXPECT_NE(answer.text().find(fmt::format("* {}", answer.sentences[answer.support[0]])),
                std::string::npos)
          << answer.text();
    });
  }
}

TEST_F(StoryTasks, GiveEqualBitsAtEveryLayout) {
  StoryConfig c = small();
  c.stories.empty = 0.5;
  expect_equal_bits(c, "plain",
                    {{2, 1, 2}, {4, 1, 1, true}, {1, 1, 8}, {1, 2, 1}, {2, 2, 2, true}});
  c.run.train.precision = DType::bf16;
  memory_options(c.run.model) = {.memories = 3, .word_order = false, .weights = HopWeights::linear};
  c.run.model.tie_embeddings = false;
  expect_equal_bits(c, "linear", {{2, 1, 2}, {1, 2, 1}, {2, 2, 2, true}});
  const Ended kept = run(c);
  for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
    c.run.parallel.recompute = recompute;
    EXPECT_EQ(run(c).finished.losses, kept.finished.losses);
  }
}

TEST_F(StoryTasks, GoOnWithEqualBits) {
  StoryConfig c = small();
  c.stories.empty = 0.5;
  expect_to_go_on_with_equal_bits(c);
}

// Linear weights are learnt first; a run with a softmax begins where that ended.
TEST_F(StoryTasks, BeginWithLinearWeights) {
  StoryConfig c = small();
  c.run.train.steps = 60;
  memory_options(c.run.model).weights = HopWeights::linear;
  run(c, 1, "linear");
  const Ended anew = run(small());
  c = small();
  c.run.checkpoint.load = folder_.file("linear");
  c.run.checkpoint.weights_only = true;
  const Ended went_on = run(c, 1, "softmax");
  EXPECT_NE(went_on.finished.losses, anew.finished.losses);
  EXPECT_LT(went_on.finished.losses.back(), anew.finished.losses.back());
}

TEST_F(StoryTasks, RefusesWhatDoesNotFit) {
  const auto refused = [&](const StoryConfig& c, const std::string& words) {
    expect_error(ExitCode::usage, {words}, [&] { run(c); });
  };
  StoryConfig c = small();
  c.run.data.train = {};
  refused(c, "data.train names no store of stories; make one with `skein-data stories`");
  c = small();
  c.stories.empty = 1.5;
  refused(c, "stories.empty=1.5 must be from 0 to 1");
  c = small();
  c.run.data.validation = {store("others", "1 A moon.\n2 What?\tmoon\n")};
  refused(c, "others.h5 has another vocabulary (4 words, not 12)");
  c = small();
  c.run.model.vocab_size = 7;
  refused(c, "model.vocab_size=7, but the stories have 12 words");
  c = small();
  c.run.model.labels = 3;
  refused(c, "model.labels=3 (model.head), but answers are one of 12 words");
  c = small();
  c.run.model.context = 7;
  refused(c, "model.context=7, but the longest story has 23 words");
  c = small();
  c.run.model.dropout = 0.1;
  refused(c, "model.dropout=0.1 says what model.architecture=memory has not");
  c = small();
  c.run.model.n_heads = 2;
  refused(c, "model.n_heads=2 says what model.architecture=memory has not");
  c = small();
  memory_options(c.run.model).memories = 0;
  expect_error(ExitCode::usage, {"model.memories is 0; it must be from 1"}, [&] { run(c); });
  c = small();
  c.run.parallel.tensor = 2;
  expect_error(ExitCode::usage, {"model.n_heads=1 does not divide by parallel.tensor=2"},
               [&] { run(c, 2); });
}

using OnGpuStoryTasks = StoryTasks;

TEST_F(OnGpuStoryTasks, FollowTheCpu) {
  StoryConfig c = small();
  c.run.data.validation = c.run.data.train = {store("few", made_stories(20))};
  c.run.train.global_batch = 8;
  expect_gpu_to_follow(c);
}

}  // namespace
}  // namespace skein::train
