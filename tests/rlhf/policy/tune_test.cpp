// Policies that are tuned reach what is exactly best, to the same bits at every layout, and go on
// where they were.
#include <csignal>
#include <sstream>

#include "skein/core/stop_signals.h"
#include "skein/models/flops.h"
#include "skein/rlhf/policy/ppo.h"
#include "skein/train/optim/loss_scale.h"
#include "skein/train/run_state.h"

#include "rlhf/tune_fixture.h"
#include "support/expect_error.h"
#include "support/retry_waits.h"

namespace skein::rlhf::policy {
namespace {

TEST_F(TunedPolicy, GivesEqualBitsAtAnyLayout) { expect_equal_at_layouts({}); }
TEST_F(TunedPolicy, WithOneTrunkGivesEqualBits) {
  expect_equal_at_layouts({{"critic.kind", "shared"},
                           {"ppo.entropy", "0.01"},
                           {"ppo.aggregation", "sequence_mean"},
                           {"critic.coefficient", "0.1"}});
}
TEST_F(TunedPolicy, OfComparedAnswersGivesEqualBits) {
  expect_equal_at_layouts({{"ppo.algorithm", "grpo"},
                           {"ppo.kl_loss", "0.1"},
                           {"kl.beta", "0.1"},
                           {"ppo.aggregation", "constant"},
                           {"train.precision", "bf16"}});
}

// With a scale that doubles until gradients overflow.
const Settings kHalf{{"train.precision", "f16"}, {"train.loss_scale_window", "1"}};

TEST_F(TunedPolicy, InHalfPrecisionGivesEqualBits) { expect_equal_at_layouts(kHalf); }

TEST_F(TunedPolicy, InHalfPrecisionScalesItsLossAndGoesOn) {
  Settings settings = kHalf;
  settings.insert(settings.end(),
                  {{"ppo.iterations", "5"}, {"checkpoint.every", "1"}, {"checkpoint.keep", "10"}});
  const Tuned whole = run(1, settings);
  ASSERT_EQ(whole.metrics.size(), 5u);
  const double scale = whole.metrics.back().at("loss_scale");
  EXPECT_GT(scale, train::LossScale::kSmallest);
  EXPECT_LT(scale, train::LossScale::kLargest) << "twenty updates, of which none overflowed";
  forget_from(tuned_at("run"), 3);
  expect_equal(run(2, settings), whole);
}

// One micro-batch a step, so that every row is padded to the context.
TEST_F(TunedPolicy, CountsTheOperationsOfItsModels) {
  run(1, {{"run.peak_flops", "1e12"},
          {"ppo.save_rollouts", "true"},
          {"ppo.iterations", "1"},
          {"parallel.reduction_groups", "1"},
          {"train.global_batch", "32"},
          {"train.micro_batch", "32"}});
  const auto saved = checkpoint::find_checkpoint(tuned_at("run"), *single_rank());
  const ModelConfig policy =
                        stored_model(train::run_state(saved->metadata, saved->path), saved->path),
                    critic = critic_model(policy);
  const auto forward = [](const ModelConfig& model, int64_t length) {
    return static_cast<double>(length) * model_flops_per_token(model, length) / 3;
  };
  constexpr int64_t kAnswers = 32, kEpochs = 2;
  double expected =
      3 * kEpochs * kAnswers * (forward(policy, policy.context) + forward(critic, policy.context));
  std::ifstream answers(tuned_at("run") + "/rollouts.jsonl");
  for (std::string line; std::getline(answers, line);) {
    const auto answer = nlohmann::json::parse(line);
    std::istringstream prompt(answer.at("prompt").get<std::string>());
    // The separator ends the prompt, and the last token of an answer is not fed.
    int64_t fed = answer.at("tokens");
    for (std::string symbol; prompt >> symbol;) ++fed;
    expected += 3 * forward(policy, fed) + forward(critic, fed);
  }
  std::ifstream metrics(tuned_at("run") + "/metrics.jsonl");
  const auto told = nlohmann::json::parse(metrics);
  const double speed = told.at("model_flops_per_second");
  EXPECT_NEAR(speed * told.at("seconds").get<double>() / expected, 1, 1e-9);
  EXPECT_EQ(told.at("share_of_peak").get<double>(), speed / 1e12);
}

TEST_F(TunedPolicy, OverShardsOfTheVocabularyAgrees) {
  const Tuned alone = run(1, {}, "alone");
  for (const char* kind : {"separate", "shared"}) {
    const Tuned found =
        run(2, {{"parallel.tensor", "2"}, {"critic.kind", kind}}, std::string("tensor-") + kind);
    EXPECT_NEAR(found.numbers().reference, alone.numbers().reference, 1e-4);
    EXPECT_NEAR(found.numbers().best, alone.numbers().best, 1e-4);
    EXPECT_GT(found.numbers().closed(), 0);
  }
}

// Killed after the second of four iterations, whatever it had begun on the third.
TEST_F(TunedPolicy, GoesOnWhereItWasKilled) {
  for (const char* kind : {"separate", "shared"}) {
    const Settings settings{{"ppo.iterations", "4"},   {"checkpoint.every", "1"},
                            {"checkpoint.keep", "10"}, {"critic.kind", kind},
                            {"kl.control", "fixed"},   {"ppo.stop_kl", "0.001"}};
    const std::string name = std::string("killed-") + kind;
    const Tuned whole = run(1, settings, name);
    forget_from(tuned_at(name), 3);
    expect_equal(run(2, settings, name), whole);
  }
}

// Killed in the middle of a line of the third of four iterations: no answer is lost, and none is
// there twice.
TEST_F(TunedPolicy, KeepsAllAnswersThroughAKill) {
  const Settings settings{{"ppo.iterations", "4"},
                          {"checkpoint.every", "1"},
                          {"checkpoint.keep", "10"},
                          {"ppo.save_rollouts", "true"}};
  const std::string path = tuned_at("run") + "/rollouts.jsonl";
  run(1, settings);
  const std::string whole = test::bytes_of_file(path);
  int64_t number = 0;
  std::istringstream lines(whole);
  for (std::string line; std::getline(lines, line); ++number) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json.at("step"), number / 32 + 1);
    EXPECT_EQ(json.at("number"), number);
    EXPECT_EQ(json.at("scores").at("oracle"), json.at("score"));
    EXPECT_LE(json.at("tokens").get<int64_t>(), 3);
    EXPECT_NEAR(json.at("reward").get<double>(),
                (json.at("ended").get<bool>() ? json.at("score").get<double>() : -1.0) -
                    0.25 * json.at("kl").get<double>(),
                1e-9);
    EXPECT_FALSE(json.at("prompt").get<std::string>().empty());
  }
  EXPECT_EQ(number, 4 * 32);
  forget_from(tuned_at("run"), 3);
  std::filesystem::resize_file(path, whole.size() * 5 / 8 + 7);
  run(2, settings);
  EXPECT_EQ(test::bytes_of_file(path), whole)
      << "killed while the third iteration was written, and gone on with on two ranks";
  forget_from(tuned_at("run"), 2);
  run(1, settings);
  EXPECT_EQ(test::bytes_of_file(path), whole)
      << "killed long after what the newest checkpoint knows";
}

TEST_F(TunedPolicy, LearnsByEachAlgorithm) {
  const Settings longer{{"ppo.iterations", "40"},    {"oracle.pretraining", "400"},
                        {"ppo.rollout_batch", "64"}, {"train.global_batch", "32"},
                        {"generate.batch", "64"},    {"train.micro_batch", "8"}};
  struct Case {
    std::string name;
    Settings settings;
    double closed;
  };
  const Settings grpo{{"ppo.algorithm", "grpo"}, {"ppo.kl_in_reward", "true"}};
  Settings dr_grpo = grpo;
  dr_grpo.insert(dr_grpo.end(), {{"ppo.divide_by_std", "false"}, {"ppo.aggregation", "constant"}});
  for (const Case& one : {Case{"ppo", {}, 0.9}, Case{"rloo", {{"ppo.algorithm", "rloo"}}, 0.9},
                          Case{"grpo", {{"ppo.algorithm", "grpo"}}, 0.5},
                          Case{"kl-in-reward", grpo, 0.8}, Case{"dr-grpo", dr_grpo, 0.9}}) {
    Settings settings = longer;
    settings.insert(settings.end(), one.settings.begin(), one.settings.end());
    const Tuned found = run(1, settings, one.name);
    EXPECT_GT(found.numbers().closed(), one.closed) << one.name;
    EXPECT_LE(found.numbers().value, found.numbers().ceiling) << one.name;
    EXPECT_EQ(found.result.outcomes.front().caveats.size(), one.name == "grpo" ? 1u : 0u)
        << one.name;
  }
}

TEST_F(TunedPolicy, StopsWhenItIsAsked) {
  std::filesystem::create_directories(tuned_at("run"));
  std::ofstream(tuned_at("run") + "/stop") << "";
  const Tuned stopped = run(1, {});
  EXPECT_TRUE(stopped.result.stopped);
  EXPECT_TRUE(stopped.result.outcomes.empty());
  EXPECT_TRUE(stopped.result.committed);
  {
    const StopSignals another;
    raise(SIGUSR2);
    const Tuned at_once = run(1, {}, "fresh");
    EXPECT_TRUE(at_once.result.stopped);
    EXPECT_FALSE(at_once.result.committed) << "not even a step of its pretraining was made";
  }
  expect_equal(run(1, {}), run(1, {}, "other"));
}

TEST_F(TunedPolicy, RefusesWhatCannotBe) {
  const auto refused = [&](const Settings& settings, const std::string& words) {
    try {
      run(1, settings);
      ADD_FAILURE() << "not refused: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refused({{"ppo.rollout_batch", "24"}}, "train.global_batch=16");
  refused({{"oracle.dump", folder_.file("nowhere/dump.tsv")}}, "oracle.dump");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("run")))
      << "it is refused before anything is computed";
  refused({{"oracle.pretraining", "0"}}, "oracle.pretraining=0 must be at least 1");
  refused({{"ppo.algorithm", "rloo"}, {"ppo.answers", "1"}}, "several answers");
  refused({{"ppo.answers", "3"}}, "ppo.answers");
  refused({{"ppo.iterations", "9000000000000000000"}}, "ppo.iterations=9000000000000000000 of ppo");
  refused({{"sample.temperature", "0"}}, "sample.temperature=0");
  refused({{"ppo.gamma", "1.5"}}, "ppo.gamma=1.5");
  refused({{"critic.warmup", "3"}}, "critic.warmup=3");
  refused({{"train.loss_scale", "8"}}, "train.loss_scale=8 is for train.precision=f16");
  refused({{"critic.warmup", "1"}, {"critic.kind", "shared"}}, "critic.warmup=1");
  refused({{"train.global_batch", "0"}}, "train.global_batch=0");
  refused({{"run.log_every", "0"}}, "run.log_every=0");
  refused({{"lr.lr", "0"}}, "lr.lr=0");
  refused({{"lr.unit", "tokens"}}, "lr.unit");
  refused({{"parallel.cuda_graph", "true"}}, "parallel.cuda_graph");
  refused({{"reward.score_clip", "1"}}, "reward.score_clip=1");
  refused({{"parallel.sequence", "true"}}, "parallel.sequence");
}

// A link to itself instead of the file is an error of storage, whoever looks.
TEST_F(TunedPolicy, NeverCutsAnswersThatItCannotRead) {
  Settings settings{{"ppo.iterations", "1"}, {"ppo.save_rollouts", "true"}};
  const std::string path = tuned_at("run") + "/rollouts.jsonl";
  run(1, settings);
  const std::string whole = test::bytes_of_file(path);
  std::filesystem::rename(path, path + ".away");
  std::filesystem::create_symlink("rollouts.jsonl", path);
  settings[0].second = "2";
  {
    const RetryWaits waits;
    test::expect_error(ExitCode::failure,
                       {path, "Too many levels of symbolic links", "start again"},
                       [&] { run(1, settings); });
  }
  std::filesystem::remove(path);
  std::filesystem::rename(path + ".away", path);
  std::ofstream superseded(path, std::ios::app);
  run(1, settings);
  superseded << "an answer that comes too late\n" << std::flush;
  EXPECT_EQ(test::bytes_of_file(path).find("too late"), std::string::npos);
  EXPECT_EQ(test::bytes_of_file(path).substr(0, whole.size()), whole);
  EXPECT_GT(test::bytes_of_file(path).size(), whole.size());
}

TEST_F(TunedPolicy, GivesUpWithAdviceAndCountsTheStepsItSkipped) {
  testing::internal::CaptureStderr();
  test::expect_error(ExitCode::failure,
                     {"not finite 13 steps in a row",
                      "the run has no checkpoint yet: begin again with a lower lr.lr than 1e+30"},
                     [&] {
                       run(1, {{"lr.lr", "1e30"},
                               {"ppo.epochs", "10"},
                               {"ppo.stop_kl", "0"},
                               {"train.max_skipped", "13"}});
                     });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      said.find("13 warnings of gradient norms that are not finite, of which 3 are not shown"),
      std::string::npos)
      << said;
}

// A proof is of the settings that it says, not of those that a folder was made with.
TEST_F(TunedPolicy, OfTheProofKeepsItsSettingsAndItsLanguage) {
  run(1, {});
  const auto refused = [&](const Settings& settings, const std::string& words) {
    test::expect_error(ExitCode::usage, {words, "another run.dir"}, [&] { run(1, settings); });
  };
  refused({{"lr.lr", "1e-2"}}, "lr.lr=0.003");
  refused({{"ppo.rollout_batch", "64"}}, "ppo.rollout_batch=32");
  std::string other = kTunedLanguage;
  other.replace(other.find("A 0.2"), 5, "A 0.1").replace(other.find("</s> 0.3"), 8, "</s> 0.4");
  write_language(other);
  refused({}, "another language");
}

constexpr const char* kFirstTable =
    "reward table default=0\nscore 1 A B </s>\nbeta 0.5\nclosed 0\n";
constexpr const char* kSecondTable =
    "reward table default=0\nscore 1 B </s>\nscore 2 B A </s>\nbeta 0.5\nclosed 0\n";

// Rewards that are called alike are tuned for one by one, and no policy is taken for one that was
// tuned for another.
TEST_F(TunedPolicy, OfTwoTablesIsTuned) {
  const std::string plain = kTunedLanguage.substr(0, kTunedLanguage.find("reward"));
  write_language(plain + kFirstTable + kSecondTable);
  const Tuned both = run(1, {}, "both");
  write_language(plain + kSecondTable);
  const Tuned second = run(1, {}, "second");
  ASSERT_EQ(both.result.outcomes.size(), 2u);
  EXPECT_EQ(both.result.outcomes[1].numbers.value, second.numbers().value);
  EXPECT_NE(both.numbers().divergence, second.numbers().divergence);
  test::expect_error(ExitCode::usage,
                     {"oracle.reward=table default=0 (checksum ", "another run.dir"},
                     [&] { run(1, {}, "both"); });
}

}  // namespace
}  // namespace skein::rlhf::policy
