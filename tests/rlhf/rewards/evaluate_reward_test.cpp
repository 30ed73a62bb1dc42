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

TEST(EvaluateReward, GivesTheReportOfTheFiles) {
  const test::Scratch folder;
  RewardConfig c = small_reward();
  c.run.data.train = c.run.data.validation = {write_few_pairs(folder)};
  c.run.train.steps = 3;
  const Trained trained = train_reward(c, folder, 1, "run");
  run_ranks(1, [&](Group& world) {
    testing::internal::CaptureStderr();
    const PreferenceReport found =
        evaluate_reward(folder.file("run"), c.run.data.validation, {}, 3, world);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(found.pairs, 8);
    EXPECT_EQ(found.accuracy, trained.report.accuracy);
    EXPECT_NEAR(found.loss, trained.report.loss, 1e-6);
    EXPECT_NEAR(found.margin, trained.report.margin, 1e-6);
    EXPECT_NE(said.find(folder.file("run") + ": " + found.text()), std::string::npos) << said;
    EXPECT_EQ(said.find("nothing but length") != std::string::npos, found.length_explains());
  });
}

TEST(EvaluateReward, IsOfRewardModels) {
  const test::Scratch folder;
  train::write_small_store(folder.file("train.h5"));
  train::PretrainConfig c = train::small_config(folder.file("train.h5"));
  c.train.steps = 1;
  train::train(c, 1, folder, "run");
  run_ranks(1, [&](Group& world) {
    test::expect_error(
        ExitCode::usage, {"is no reward model; `skein reward` makes one of it"},
        [&] { evaluate_reward(folder.file("run"), {folder.file("x.jsonl")}, {}, 3, world); });
  });
}

}  // namespace
}  // namespace skein::rlhf::rewards
