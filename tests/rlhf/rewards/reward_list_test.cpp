// reward.sources, as commands are given it.
#include "skein/rlhf/rewards/reward_list.h"

#include <gtest/gtest.h>

#include "rlhf/reward_fixture.h"
#include "rlhf/reward_model_fixture.h"

namespace skein::rlhf::rewards {
namespace {

RewardMixture made(const std::string& sources, Mesh& mesh) {
  return make_rewards(RewardOptions{sources, 60}, PolicyText{}, {}, DType::f32, 2, mesh);
}

TEST(RewardLists, AreNamedByOptions) {
  RewardOptions c;
  Options options("skein ppo", "Tunes.");
  bind(options, c);
  options.set("reward.sources", "ended; regex:a", "the test");
  options.set("reward.process_seconds", "2.5", "the test");
  EXPECT_EQ(c.sources, "ended; regex:a");
  EXPECT_EQ(c.process_seconds, 2.5);
}

TEST(RewardLists, HoldRulesAndModels) {
  const test::Scratch folder;
  RewardConfig c = small_reward();
  c.run.data.train = {folder.file("pairs.jsonl")};
  std::ofstream file(folder.file("pairs.jsonl"));
  for (const char* better : {"a", "b", "c", "d"})
    file << R"({"prompt": "ask", "chosen": ")" << better << R"(", "rejected": "f"})" << '\n';
  file.close();
  c.run.train.steps = 1;
  train_reward(c, folder, 1, "run");
  run_ranks(1, [&](Group& world) {
    Mesh mesh(world, {1, 1, 1});
    RewardMixture rewards = made("0.5*model:" + folder.file("run") + "; ended", mesh);
    ASSERT_EQ(rewards.parts().size(), 2u);
    EXPECT_EQ(rewards.parts()[0].label, "model");
    EXPECT_EQ(rewards.parts()[0].weight, 0.5);
    const std::vector<Answer> answers{test::answer("a"), test::answer("b", "", 1, false)};
    const std::vector<double> sums = rewards.scores(answers);
    RewardModel model(folder.file("run"), {}, DType::f32, 2, mesh);
    for (size_t i = 0; i < answers.size(); ++i) {
      const double alone = model.scores(
          model.form().sequences(answers[i].prompt.messages, std::span(&answers[i].text, 1)))[0];
      EXPECT_DOUBLE_EQ(sums[i], 0.5 * alone + (answers[i].ended ? 1 : 0)) << i;
    }
  });
}

TEST(RewardLists, ThatNameNoModelAreRefused) {
  const test::Scratch folder;
  run_ranks(1, [&](Group& world) {
    Mesh mesh(world, {1, 1, 1});
    test::expect_error(ExitCode::usage, {"no reward model is named"},
                       [&] { made("model:", mesh); });
    test::expect_error(ExitCode::usage, {"the reward model: ", folder.file("none")},
                       [&] { made("model:" + folder.file("none"), mesh); });
    test::expect_error(ExitCode::usage, {"no reward modl", "did you mean model?"},
                       [&] { made("modl:x", mesh); });
  });
}

}  // namespace
}  // namespace skein::rlhf::rewards
