// A reward model is worth as much after its training as in its last validation.
#include "skein/rlhf/rewards/evaluate_reward.h"

#include <gtest/gtest.h>

#include "skein/core/values.h"

#include "rlhf/reward_model_fixture.h"
#include "support/expect_error.h"

namespace skein::rlhf::rewards {
namespace {

std::string write_few_pairs(const test::Scratch& folder) {
  std::ofstream file(folder.file("pairs.jsonl"));
  for (const char* better : {"a", "b", "a b", "c d e"})
    for (const char* worse : {"f", "e f"})
      file << R"({"prompt": "ask", "chosen": ")" << better << R"(", "rejected": ")" << worse
           << "\"}\n";
  return folder.file("pairs.jsonl");
}

PreferenceReport evaluated(const std::string& path, const std::vector<std::string>& files,
                           Group& world, const std::map<std::string, std::string>& given = {}) {
  PreferenceTaskConfig config;
  Options options("skein eval", "Measures.");
  bind_reading(options, config, "reward");
  for (const auto& [key, value] : given) options.set(key, value, "the test");
  return evaluate_reward({path, files, config, options, {}, 3}, world);
}

TEST(EvaluateReward, GivesTheReportOfTheFiles) {
  const test::Scratch folder;
  RewardConfig c = small_reward();
  c.run.data.train = c.run.data.validation = {write_few_pairs(folder)};
  c.run.train.steps = 3;
  const Trained trained = train_reward(c, folder, 1, "run");
  run_ranks(1, [&](Group& world) {
    testing::internal::CaptureStderr();
    const PreferenceReport found = evaluated(folder.file("run"), c.run.data.validation, world);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(found.pairs, 8);
    EXPECT_EQ(found.accuracy, trained.report.accuracy);
    EXPECT_NEAR(found.loss, trained.report.loss, 1e-6);
    EXPECT_NEAR(found.margin, trained.report.margin, 1e-6);
    EXPECT_NE(said.find(folder.file("run") + ": " + found.text()), std::string::npos) << said;
    EXPECT_EQ(said.find("nothing but length") != std::string::npos, found.length_explains());
  });
}

// A prompt that does not fit, which the training left out.
TEST(EvaluateReward, ReadsRecordsAsTheTrainingDid) {
  const test::Scratch folder;
  RewardConfig c = small_reward();
  const std::string file = write_few_pairs(folder);
  std::ofstream(file, std::ios::app)
      << R"({"prompt": ")" << std::string(60, 'p') << R"(", "chosen": "a", "rejected": "f"})"
      << "\n";
  c.run.data.train = c.run.data.validation = {file};
  c.task.long_prompts = LongPrompts::drop;
  c.run.train.steps = 3;
  const Trained trained = train_reward(c, folder, 1, "run");
  EXPECT_EQ(trained.report.pairs, 8);
  run_ranks(1, [&](Group& world) {
    const PreferenceReport found = evaluated(folder.file("run"), {file}, world);
    EXPECT_EQ(found.pairs, 8);
    EXPECT_NEAR(found.loss, trained.report.loss, 1e-6);
    EXPECT_EQ(evaluated(folder.file("run"), {file}, world, {{"reward.long_prompts", "cut"}}).pairs,
              9);
  });
}

TEST(EvaluateReward, IsOfRewardModels) {
  const test::Scratch folder;
  train::write_small_store(folder.file("train.h5"));
  train::PretrainConfig c = train::small_config(folder.file("train.h5"));
  c.train.steps = 1;
  train::train(c, 1, folder, "run");
  run_ranks(1, [&](Group& world) {
    test::expect_error(ExitCode::usage, {"is no reward model; `skein reward` makes one of it"},
                       [&] { evaluated(folder.file("run"), {folder.file("x.jsonl")}, world); });
  });
}

}  // namespace
}  // namespace skein::rlhf::rewards
