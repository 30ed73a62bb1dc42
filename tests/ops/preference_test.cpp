#include "skein/ops/preference.h"

#include <cmath>
#include <numbers>

#include "skein/core/numbers.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

using ops::PreferenceLossConfig;

struct Answer {
  data::PreferenceKind kind;
  float value, grade;
};

std::vector<float> known(const std::vector<Answer>& answers) {
  std::vector<float> all;
  for (const Answer& answer : answers)
    all.insert(all.end(), {static_cast<float>(answer.kind), answer.value, answer.grade});
  return all;
}

double loss(const std::vector<double>& scores, const std::vector<Answer>& answers,
            const PreferenceLossConfig& config = {}) {
  return ops::preference_loss(scores, known(answers), config).loss;
}

constexpr Answer better{data::PreferenceKind::ranked, 1, 3},
    worse{data::PreferenceKind::ranked, 0, 1}, nobody{data::PreferenceKind::none, 0, 0};

TEST(PreferenceLoss, OfAPairIsThatOfBradleyAndTerry) {
  EXPECT_NEAR(loss({1, 0.5}, {better, worse}), 0.4740769841801067, 1e-15);
  EXPECT_NEAR(loss({0.5, 1}, {worse, better}), 0.4740769841801067, 1e-15)
      << "the order of the answers plays no part";
  EXPECT_NEAR(loss({0.5, 1}, {better, worse}), 0.9740769841801067, 1e-15);
  EXPECT_EQ(loss({7, 7}, {better, worse}), std::numbers::ln2);
  // Margins are differences of the grades, here 0.25 · (3 - 1); centring is of the sum, here 1.5.
  EXPECT_NEAR(loss({1, 0.5}, {better, worse}, {.margin = 0.25}), std::numbers::ln2, 1e-15);
  EXPECT_NEAR(loss({1, 0.5}, {better, worse}, {.centring = 0.1}), 0.4740769841801067 + 0.1 * 2.25,
              1e-15);
}

TEST(PreferenceLoss, OfAListIsTheMeanOfItsPairs) {
  const auto rank = [](float value) { return Answer{data::PreferenceKind::ranked, value, 0}; };
  EXPECT_NEAR(loss({1, 0, -1}, {rank(-1), rank(-2), rank(-3)}),
              (2 * 0.31326168751822286 + 0.12692801104297263) / 3, 1e-15);
  // Of ties only the pairs that are told apart count, and answers that are not there never do.
  EXPECT_NEAR(loss({1, 0, -1, 99}, {rank(1), rank(1), rank(0), nobody}),
              (0.12692801104297263 + 0.31326168751822286) / 2, 1e-15);
  EXPECT_EQ(loss({1, 0}, {rank(2), rank(2)}), 0);
}

TEST(PreferenceLoss, OfAChoiceIsASoftmaxAndOfScoresASquare) {
  const Answer best{data::PreferenceKind::best, 1, 0}, other{data::PreferenceKind::best, 0, 0};
  EXPECT_NEAR(loss({5, 5, 5, 0}, {other, best, other, nobody}), std::log(3), 1e-15);
  EXPECT_NEAR(loss({1, 0.5}, {best, other}), 0.4740769841801067, 1e-15);
  EXPECT_NEAR(loss({1, 2, 0}, {other, best, other}, {.centring = 1}),
              std::log(1 + std::exp(-1) + std::exp(-2)) + (9.0 + 4.0) / 2, 1e-14);
  EXPECT_DOUBLE_EQ(
      loss({1, 2, 8},
           {{data::PreferenceKind::scored, 0, 0}, {data::PreferenceKind::scored, 4, 0}, nobody}),
      2.5);
}

TEST(PreferenceLoss, IsFiniteAtAnyGap) {
  const Answer best{data::PreferenceKind::best, 1, 0}, other{data::PreferenceKind::best, 0, 0};
  for (const auto& [first, second] : {std::pair{better, worse}, std::pair{best, other}}) {
    const auto right =
        ops::preference_loss(std::vector<double>{1e4, -1e4}, known({first, second}), {});
    EXPECT_EQ(right.loss, 0);
    EXPECT_EQ(right.slopes, (std::vector<double>{0, 0}));
    const auto wrong =
        ops::preference_loss(std::vector<double>{-1e4, 1e4}, known({first, second}), {});
    EXPECT_EQ(wrong.loss, 2e4);
    EXPECT_EQ(wrong.slopes, (std::vector<double>{-1, 1}));
  }
  EXPECT_EQ(log_sigmoid(-1e300), -1e300);
  EXPECT_NEAR(log_sigmoid(-1e-17), -std::numbers::ln2, 1e-16);
}

TEST(PreferenceLoss, HasTheGradientsOfItsDifferences) {
  std::vector<float> all;
  for (const std::vector<Answer>& sample :
       {std::vector<Answer>{{data::PreferenceKind::ranked, 1, 0.5},
                            {data::PreferenceKind::ranked, -1, 0},
                            {data::PreferenceKind::ranked, 1, 2},
                            {data::PreferenceKind::ranked, 0, 1}},
        {{data::PreferenceKind::best, 0, 0},
         {data::PreferenceKind::best, 0, 1},
         {data::PreferenceKind::best, 1, 0},
         nobody},
        {{data::PreferenceKind::scored, 0.5, 0},
         {data::PreferenceKind::scored, -2, 0},
         nobody,
         nobody},
        {better, worse, nobody, nobody},
        {nobody, nobody, nobody, nobody}}) {
    const std::vector<float> one = known(sample);
    all.insert(all.end(), one.begin(), one.end());
  }
  const Tensor what = Tensor::from(all, {5, 4, data::kKnownColumns});
  for (const PreferenceLossConfig& config :
       {PreferenceLossConfig{}, PreferenceLossConfig{0.7, 0.3}})
    test::check_gradients(
        [&](const test::Checked& at) { return ops::preference_losses(at.inputs[0], what, config); },
        {{20}});
}

}  // namespace
}  // namespace skein
