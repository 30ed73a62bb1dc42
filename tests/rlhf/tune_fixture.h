// Small policies to tune: those of an enumerable language.
#pragma once

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/rlhf/oracle/run.h"

#include "rlhf/small_language.h"
#include "train/train_fixture.h"

namespace skein::rlhf {

inline const std::string kTunedLanguage = kLengthLanguage + "beta 0.25\nclosed 0.5\n";
using Settings = std::vector<std::pair<std::string, std::string>>;

struct Tuned {
  oracle::OracleResult result;
  std::vector<nlohmann::json> metrics;  // without times
  train::State state, mean;             // of the newest checkpoint, and of the running mean

  const oracle::OracleNumbers& numbers() const { return result.outcomes.front().numbers; }
};

inline bool is_time(const std::string& name) {
  return name == "seconds" || name.ends_with("_share") || name.ends_with("_per_second") ||
         name.starts_with("peak_");
}

inline std::vector<nlohmann::json> metrics_in(const std::string& path) {
  std::vector<nlohmann::json> all;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    auto json = nlohmann::json::parse(line);
    for (auto it = json.begin(); it != json.end();)
      it = is_time(it.key()) ? json.erase(it) : std::next(it);
    all.push_back(std::move(json));
  }
  return all;
}

class TunedPolicy : public ::testing::Test {
 protected:
  TunedPolicy() { write_language(kTunedLanguage); }

  void write_language(const std::string& text) {
    std::ofstream(folder_.file("language.txt")) << text;
  }

  Tuned run(int ranks, const Settings& settings, const std::string& name = "run") {
    oracle::OracleRunConfig oracle;
    policy::TuneConfig config = policy::tune_defaults();
    Options options("test", "");
    bind(options, oracle);
    bind(options, config);
    for (const auto& [key, value] : oracle::oracle_defaults()) options.set(key, value, "test");
    for (const auto& [key, value] : Settings{{"oracle.language", folder_.file("language.txt")},
                                             {"oracle.pretraining", "60"},
                                             {"oracle.d_model", "16"},
                                             {"oracle.n_heads", "2"},
                                             {"run.dir", folder_.file(name)},
                                             {"ppo.iterations", "3"},
                                             {"ppo.rollout_batch", "32"},
                                             {"train.global_batch", "16"},
                                             {"train.micro_batch", "4"},
                                             {"generate.batch", "8"},
                                             {"ppo.epochs", "2"},
                                             {"parallel.reduction_groups", "4"},
                                             {"lr.lr", "3e-3"},
                                             {"ppo.shown", "0"},
                                             {"run.log_every", "1000"}})
      options.set(key, value, "test");
    for (const auto& [key, value] : settings) options.set(key, value, "test");
    Tuned tuned;
    run_ranks(ranks, [&](Group& world) {
      oracle::OracleResult result = run_oracle(oracle, config, world);
      if (world.rank() == 0) tuned.result = std::move(result);
    });
    tuned.metrics = metrics_in(tuned_at(name) + "/metrics.jsonl");
    tuned.state = train::state_of(tuned_at(name));
    tuned.mean = train::state_of(tuned_at(name) + "/ema");
    return tuned;
  }

  std::string tuned_at(const std::string& name) const {
    return folder_.file(name) + "/length-0.25";
  }

  // As if the run had been killed before the checkpoint of that iteration, and later ones.
  void forget_from(const std::string& tuned, int iteration) {
    for (const auto& entry : std::filesystem::directory_iterator(tuned + "/checkpoints"))
      if (entry.path().filename().string() >= fmt::format("step-{:08}", iteration))
        std::filesystem::remove_all(entry.path());
  }

  // Bit for bit, what was learnt and all that was told on the way.
  static void expect_equal(const Tuned& found, const Tuned& expected) {
    EXPECT_EQ(found.metrics, expected.metrics);
    EXPECT_EQ(train::first_difference(found.state, expected.state), "");
    EXPECT_EQ(train::first_difference(found.mean, expected.mean), "");
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
    at(2, {{"train.micro_batch", "8"}});  // of two groups
    at(2, {{"parallel.pipeline", "2"}, {"train.micro_batch", "2"}});
    at(4, {{"parallel.pipeline", "2"}, {"parallel.zero", "true"}});
  }

  test::Scratch folder_;
};

}  // namespace skein::rlhf
