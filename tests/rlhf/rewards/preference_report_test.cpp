#include "skein/rlhf/rewards/preference_report.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

#include "skein/core/json.h"
#include "skein/core/philox.h"

namespace skein::rlhf::rewards {
namespace {

// Samples whose answers are told apart by their first token and have so many tokens.
class JudgedSamples {
 public:
  void pair(double better, double worse, int32_t better_id, int32_t worse_id,
            size_t better_length = 2, size_t worse_length = 2) {
    samples_.push_back({data::PreferenceKind::ranked,
                        {answer(better_id, better_length), answer(worse_id, worse_length)},
                        {1, 0},
                        {0, 0}});
    scores_.insert(scores_.end(), {static_cast<float>(better), static_cast<float>(worse), 0});
  }
  void add(data::PreferenceKind kind, const std::vector<float>& values,
           const std::vector<float>& scores) {
    data::PreferenceSample sample{kind, {}, values, std::vector<float>(values.size())};
    for (size_t k = 0; k < values.size(); ++k)
      sample.sequences.push_back(answer(static_cast<int32_t>(k), 2));
    samples_.push_back(sample);
    for (size_t k = 0; k < 3; ++k) scores_.push_back(k < scores.size() ? scores[k] : 0);
  }
  PreferenceReport report() const {
    return report_of(samples_, Tensor::from(scores_, {static_cast<int64_t>(samples_.size()), 3}),
                     0.25);
  }

 private:
  static data::FormedSample answer(int32_t id, size_t length) {
    return {std::vector<int32_t>(length, id), {}, {0}};
  }
  std::vector<data::PreferenceSample> samples_;
  std::vector<float> scores_;
};

TEST(PreferenceReport, CountsTiesAsWrongAndKnowsMarginAndLoss) {
  JudgedSamples judged;
  judged.pair(2, 1, 1, 2);
  judged.pair(1, 1, 3, 4);
  judged.pair(0, 3, 5, 6);
  const PreferenceReport report = judged.report();
  EXPECT_EQ(report.prompts, 3);
  EXPECT_EQ(report.loss, 0.25);
  EXPECT_DOUBLE_EQ(report.accuracy, 1.0 / 3);
  EXPECT_DOUBLE_EQ(report.margin, -2.0 / 3);
  EXPECT_NEAR(report.pair_loss, (0.31326168751822286 + std::numbers::ln2 + 3.048587351573742) / 3,
              1e-12);
  EXPECT_EQ(report.label_entropy, 0);
  EXPECT_EQ(report.repeated, 0);
}

// Four judgements of one pair, one the other way; and a pair judged once.
TEST(PreferenceReport, EntropyIsThatOfRepeatedJudgements) {
  JudgedSamples judged;
  for (int i = 0; i < 3; ++i) judged.pair(1, 0, 1, 2);
  judged.pair(0, 1, 2, 1);
  judged.pair(1, 0, 3, 4);
  const PreferenceReport report = judged.report();
  EXPECT_EQ(report.repeated, 4);
  EXPECT_NEAR(report.label_entropy, 0.8 * (-0.25 * std::log(0.25) - 0.75 * std::log(0.75)), 1e-12);
}

TEST(PreferenceReport, TellsWhenLengthAloneExplainsThePreferences) {
  JudgedSamples judged;
  for (int32_t i = 0; i < 8; ++i)
    judged.pair(i < 6 ? 1 : 0, 0.5, 2 * i, 2 * i + 1, i < 6 ? 5 : 1, 3);
  const PreferenceReport report = judged.report();
  EXPECT_EQ(report.longer, 6.0 / 8);
  EXPECT_TRUE(report.length_explains());
  EXPECT_EQ(report.length_warning(),
            "\"the longer answer is better\" alone is right for 0.7500 of the pairs, the model for "
            "0.7500: it may have learnt nothing but length");
  ASSERT_EQ(report.by_length.size(), 2u);
  EXPECT_EQ(report.by_length[0].low, -2);
  EXPECT_EQ(report.by_length[0].accuracy, 0);
  EXPECT_EQ(report.by_length[1].pairs, 6);
  EXPECT_EQ(report.by_length[1].accuracy, 1);
  JudgedSamples equal;
  for (int32_t i = 0; i < 4; ++i) equal.pair(i < 3, 0.5, 2 * i, 2 * i + 1);
  EXPECT_EQ(equal.report().longer, 0.5);
  EXPECT_FALSE(equal.report().length_explains());
}

// Labels drawn from σ(true gap), scores that are twice too sure: slope 1/2, and what is said is
// more than what is right.
TEST(PreferenceReport, CalibrationFindsTheSlope) {
  for (double size : {1.0, 2.0}) {
    JudgedSamples judged;
    const int count = 20000;
    for (int i = 0; i < count; ++i) {
      const double gap = 1.5 * normal_at(7, 0, static_cast<uint64_t>(i)),
                   draw = uniform_double(philox(8, 0, static_cast<uint64_t>(i))[0],
                                         philox(8, 0, static_cast<uint64_t>(i))[1]);
      const bool first = draw < 1 / (1 + std::exp(-gap));
      judged.pair(size * (first ? gap : 0), size * (first ? 0 : gap), 2 * i, 2 * i + 1);
    }
    const PreferenceReport report = judged.report();
    EXPECT_NEAR(report.slope, 1 / size, 0.04 / size);
    if (size == 1)
      EXPECT_LT(report.calibration_error, 0.02);
    else
      EXPECT_GT(report.calibration_error, 0.08);
    int64_t pairs = 0;
    for (const PairBin& bin : report.by_confidence) pairs += bin.pairs;
    EXPECT_EQ(pairs, count);
    EXPECT_EQ(report.by_confidence.size(), 10u);
    EXPECT_EQ(report.by_length.size(), 1u) << "all lengths are the same";
  }
}

TEST(PreferenceReport, HasNoSlopeWhereNothingErrs) {
  JudgedSamples judged;
  judged.pair(2, 1, 1, 2);
  EXPECT_TRUE(std::isnan(judged.report().slope));
  EXPECT_NE(judged.report().text().find("slope none"), std::string::npos);
  EXPECT_FALSE(nlohmann::json::parse(judged.report().to_json()).contains("slope"));
  judged.pair(std::nan(""), 1, 1, 2);
  EXPECT_EQ(judged.report().accuracy, 0.5);
}

TEST(PreferenceReport, KnowsChoicesAndScores) {
  JudgedSamples judged;
  judged.add(data::PreferenceKind::best, {0, 1, 0}, {0, 3, 1});
  judged.add(data::PreferenceKind::best, {1, 0}, {2, 2});
  judged.add(data::PreferenceKind::scored, {1, 2, 3}, {1, 2, 5});
  const PreferenceReport report = judged.report();
  EXPECT_EQ(report.choices, 2);
  EXPECT_EQ(report.choice_accuracy, 0.5);
  EXPECT_EQ(report.pairs, 3);
  EXPECT_EQ(report.scored, 3);
  EXPECT_NEAR(report.squared_error, 4.0 / 3, 1e-12);
  EXPECT_NEAR(report.spearman, 1, 1e-12);
  const auto json = nlohmann::json::parse(report.to_json());
  EXPECT_EQ(json["choice_accuracy"], 0.5);
  EXPECT_EQ(json["by_confidence"].size(), 10u);
  EXPECT_EQ(json["pairs"], 3);
}

}  // namespace
}  // namespace skein::rlhf::rewards
