// Policies that are tuned reach what is exactly best, to the same bits at every layout, and go on where they were.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "skein/comm/local.h"
#include "skein/core/error.h"
#include "skein/rlhf/oracle_run.h"
#include "train/train_fixture.h"

namespace skein {
namespace {

constexpr const char* kLanguage = R"(alphabet A B
end </s>
separator <sep>
pad <pad>
initial A 0.5 B 0.5
from A A 0.2 B 0.5 </s> 0.3
from B A 0.4 B 0.2 </s> 0.4
prompts chain 1 2
response 3
unended replace -1
reward length
beta 0.25
closed 0.5
)";

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Tuned {
  OracleResult result;
  std::vector<nlohmann::json> metrics;  // without times

  const OracleNumbers& numbers() const { return result.outcomes.front().numbers; }
};

bool is_time(const std::string& name) { return name == "seconds" || name.ends_with("_share") || name.ends_with("_per_second"); }

std::vector<nlohmann::json> metrics_in(const std::string& path) {
  std::vector<nlohmann::json> all;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    auto json = nlohmann::json::parse(line);
    for (auto it = json.begin(); it != json.end();) it = is_time(it.key()) ? json.erase(it) : std::next(it);
    all.push_back(std::move(json));
  }
  return all;
}

class TunedPolicy : public ::testing::Test {
 protected:
  TunedPolicy() { std::ofstream(folder_.at("language.txt")) << kLanguage; }

  Tuned run(int ranks, const Settings& settings, const std::string& name = "run") {
    OracleRunConfig oracle;
    TuneConfig config = tune_defaults();
    Options options("test", "");
    bind(options, oracle);
    bind(options, config);
    for (const auto& [key, value] : oracle_defaults()) options.set(key, value, "test");
    for (const auto& [key, value] : Settings{{"oracle.language", folder_.at("language.txt")}, {"oracle.pretraining", "60"}, {"oracle.d_model", "16"},
                                             {"oracle.n_heads", "2"}, {"run.dir", folder_.at(name)}, {"ppo.iterations", "3"}, {"ppo.rollout_batch", "32"},
                                             {"train.global_batch", "16"}, {"train.micro_batch", "4"}, {"generate.batch", "8"}, {"ppo.epochs", "2"},
                                             {"parallel.reduction_groups", "4"}, {"lr.lr", "3e-3"}, {"ppo.shown", "0"}, {"run.log_every", "1000"}})
      options.set(key, value, "test");
    for (const auto& [key, value] : settings) options.set(key, value, "test");
    Tuned tuned;
    run_ranks(ranks, [&](Group& world) {
      OracleResult result = run_oracle(oracle, config, world);
      if (world.rank() == 0) tuned.result = std::move(result);
    });
    tuned.metrics = metrics_in(folder_.at(name) + "/length-0.25/metrics.jsonl");
    return tuned;
  }

  // Bit for bit, what was learnt and all that was told on the way.
  static void expect_equal(const Tuned& found, const Tuned& expected) {
    EXPECT_EQ(found.metrics, expected.metrics);
    ASSERT_EQ(found.result.outcomes.size(), 1u);
    EXPECT_EQ(found.numbers().value, expected.numbers().value);
    EXPECT_EQ(found.numbers().divergence, expected.numbers().divergence);
    EXPECT_EQ(found.numbers().spread, expected.numbers().spread);
  }

  void expect_equal_at_layouts(const Settings& settings) {
    const Tuned alone = run(1, settings, "alone");
    int number = 0;
    const auto at = [&](int ranks, Settings layout) {
      layout.insert(layout.begin(), settings.begin(), settings.end());
      expect_equal(run(ranks, layout, fmt::format("layout{}", number++)), alone);
    };
    at(1, {{"train.micro_batch", "2"}, {"generate.batch", "32"}});
    at(2, {});
    at(2, {{"parallel.pipeline", "2"}, {"train.micro_batch", "2"}});
    at(4, {{"parallel.pipeline", "2"}, {"parallel.zero", "true"}});
  }

  Workspace folder_;
};

TEST_F(TunedPolicy, GivesEqualBitsAtAnyLayout) { expect_equal_at_layouts({}); }
TEST_F(TunedPolicy, WithOneTrunkGivesEqualBits) {
  expect_equal_at_layouts({{"critic.kind", "shared"}, {"ppo.entropy", "0.01"}, {"ppo.aggregation", "sequence_mean"}, {"critic.coefficient", "0.1"}});
}
TEST_F(TunedPolicy, OfComparedAnswersGivesEqualBits) {
  expect_equal_at_layouts({{"ppo.algorithm", "grpo"}, {"ppo.kl_loss", "0.1"}, {"kl.beta", "0.1"}, {"ppo.aggregation", "constant"}, {"train.precision", "bf16"}});
}

TEST_F(TunedPolicy, OverShardsOfTheVocabularyAgrees) {
  const Tuned alone = run(1, {}, "alone");
  for (const char* kind : {"separate", "shared"}) {
    const Tuned found = run(2, {{"parallel.tensor", "2"}, {"critic.kind", kind}}, std::string("tensor-") + kind);
    EXPECT_NEAR(found.numbers().reference, alone.numbers().reference, 1e-4);
    EXPECT_NEAR(found.numbers().best, alone.numbers().best, 1e-4);
    EXPECT_GT(found.numbers().closed(), 0);
  }
}

// Killed after the second of four iterations, whatever it had begun on the third.
TEST_F(TunedPolicy, GoesOnWhereItWasKilled) {
  for (const char* kind : {"separate", "shared"}) {
    const Settings settings{{"ppo.iterations", "4"}, {"checkpoint.every", "1"}, {"checkpoint.keep", "10"}, {"critic.kind", kind},
                            {"kl.control", "fixed"}, {"ppo.stop_kl", "0.001"}};
    const std::string name = std::string("killed-") + kind;
    const Tuned whole = run(1, settings, name);
    const std::string checkpoints = folder_.at(name) + "/length-0.25/checkpoints";
    for (const auto& entry : std::filesystem::directory_iterator(checkpoints))
      if (entry.path().filename().string().starts_with("step-00000003") || entry.path().filename().string().starts_with("step-00000004"))
        std::filesystem::remove_all(entry.path());
    expect_equal(run(2, settings, name), whole);
  }
}

TEST_F(TunedPolicy, LearnsByEachAlgorithm) {
  const Settings longer{{"ppo.iterations", "40"}, {"oracle.pretraining", "400"}, {"ppo.rollout_batch", "64"}, {"train.global_batch", "32"}, {"generate.batch", "64"},
                        {"train.micro_batch", "8"}};
  for (const char* algorithm : {"ppo", "rloo", "grpo"}) {
    Settings settings = longer;
    settings.emplace_back("ppo.algorithm", algorithm);
    const Tuned found = run(1, settings, algorithm);
    EXPECT_GT(found.numbers().closed(), algorithm == std::string("grpo") ? 0.5 : 0.9) << algorithm;
    EXPECT_LE(found.numbers().value, found.numbers().ceiling) << algorithm;
  }
}

TEST_F(TunedPolicy, StopsWhenItIsAsked) {
  std::filesystem::create_directories(folder_.at("run/length-0.25"));
  std::ofstream(folder_.at("run/length-0.25/stop")) << "";
  const Tuned stopped = run(1, {});
  EXPECT_TRUE(stopped.result.stopped);
  EXPECT_TRUE(stopped.result.outcomes.empty());
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
  refused({{"ppo.algorithm", "rloo"}, {"ppo.answers", "1"}}, "several answers");
  refused({{"ppo.answers", "3"}}, "ppo.answers");
  refused({{"sample.temperature", "0"}}, "sample.temperature=0");
  refused({{"ppo.gamma", "1.5"}}, "ppo.gamma=1.5");
  refused({{"critic.warmup", "3"}}, "critic.warmup=3");
  refused({{"train.precision", "f16"}}, "f16");
  refused({{"reward.score_clip", "1"}}, "reward.score_clip=1");
  refused({{"parallel.sequence", "true"}}, "parallel.sequence");
}

}  // namespace
}  // namespace skein
