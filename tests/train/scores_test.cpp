#include "skein/train/scores.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/train/tasks/entity_scores.h"

namespace skein::train {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

// By tools/make_score_golden.py.
const Json& golden() {
  static const Json json = Json::parse(std::ifstream("train/scores.golden.json"));
  return json;
}

constexpr double kNear = 1e-12;

TEST(ClassScores, EqualScikitLearn) {
  for (const Json& c : golden().at("classes")) {
    const auto truth = c.at("truth").get<std::vector<int32_t>>(),
               predicted = c.at("predicted").get<std::vector<int32_t>>();
    const ClassScores scores = class_scores(truth, predicted, c.at("classes"));
    EXPECT_NEAR(scores.accuracy(), c.at("accuracy"), kNear);
    EXPECT_NEAR(scores.accuracy(), c.at("micro"), kNear);
    EXPECT_NEAR(scores.macro_f1(), c.at("macro"), kNear);
    EXPECT_NEAR(scores.weighted_f1(), c.at("weighted"), kNear);
    EXPECT_NEAR(scores.matthews(), c.at("matthews"), kNear);
    for (size_t i = 0; i < scores.classes.size(); ++i) {
      EXPECT_NEAR(scores.classes[i].precision(), c.at("precision")[i], kNear);
      EXPECT_NEAR(scores.classes[i].recall(), c.at("recall")[i], kNear);
      EXPECT_NEAR(scores.classes[i].f1(), c.at("f1")[i], kNear);
      EXPECT_EQ(scores.classes[i].support, c.at("support")[i]);
    }
  }
  EXPECT_GE(golden().at("classes").size(), 10u);
}

TEST(ClassScores, ByHand) {
  const std::vector<int32_t> truth{0, 0, 0, 1}, predicted{0, 0, 1, 1};
  const ClassScores scores = class_scores(truth, predicted, 3);
  EXPECT_DOUBLE_EQ(scores.accuracy(), 0.75);
  EXPECT_DOUBLE_EQ(scores.macro_f1(), (0.8 + 2.0 / 3) / 2);  // the third class occurs nowhere
  EXPECT_DOUBLE_EQ(scores.weighted_f1(), (3 * 0.8 + 2.0 / 3) / 4);
  EXPECT_DOUBLE_EQ(scores.matthews(), 1 / std::sqrt(3));
  EXPECT_EQ(class_scores(truth, std::vector<int32_t>(4, 0), 2).matthews(), 0);
}

TEST(ClassScores, WrongUseIsOurOwnFault) {
  const std::vector<int32_t> two{0, 1}, one{0}, high{0, 2}, none;
  EXPECT_THROW(class_scores(two, one, 2), Error);
  EXPECT_THROW(class_scores(two, high, 2), Error);
  EXPECT_THROW(class_scores(none, none, 2), Error);
}

TEST(NumberScores, EqualSciPy) {
  for (const Json& c : golden().at("numbers")) {
    const auto truth = c.at("truth").get<Numbers>(), predicted = c.at("predicted").get<Numbers>();
    EXPECT_NEAR(mean_squared_error(truth, predicted) / c.at("squared").get<double>(), 1, kNear);
    EXPECT_NEAR(pearson(truth, predicted), c.at("pearson"), 1e-9);
    EXPECT_NEAR(spearman(truth, predicted), c.at("spearman"), kNear);
  }
  EXPECT_GE(golden().at("numbers").size(), 5u);
}

TEST(NumberScores, AtTheBorders) {
  const Numbers rising{1, 2, 3}, falling{3, 2, -9}, constant{0.1, 0.1, 0.1},
      huge{1e308, -1e308, 1.5e308};
  EXPECT_DOUBLE_EQ(pearson(rising, rising), 1);
  EXPECT_DOUBLE_EQ(spearman(rising, falling), -1);
  EXPECT_EQ(pearson(rising, constant), 0);
  EXPECT_EQ(spearman(constant, rising), 0);
  EXPECT_DOUBLE_EQ(pearson(huge, huge), 1);
  const Numbers broken{1, NAN, 3};
  EXPECT_TRUE(std::isnan(pearson(rising, broken)));
  EXPECT_TRUE(std::isnan(spearman(broken, rising)));
  EXPECT_TRUE(std::isnan(mean_squared_error(rising, broken)));
}

TEST(NumberScores, TiesShareTheirMeanRank) {
  // Ranks 1.5 1.5 3 4 and 1 3 3 3: deviations -1 -1 .5 1.5 and -1.5 .5 .5 .5.
  EXPECT_NEAR(spearman(Numbers{1, 1, 2, 3}, Numbers{0, 5, 5, 5}), 2 / std::sqrt(4.5 * 3), kNear);
}

TagSequences split(const Json& sentences) {
  TagSequences split;
  for (const Json& sentence : sentences) {
    std::istringstream words(sentence.get<std::string>());
    split.emplace_back(std::istream_iterator<std::string>(words),
                       std::istream_iterator<std::string>());
  }
  return split;
}

void expect_score(const ClassScore& score, const Json& wanted) {
  EXPECT_NEAR(score.precision(), wanted.at("precision"), kNear);
  EXPECT_NEAR(score.recall(), wanted.at("recall"), kNear);
  EXPECT_NEAR(score.f1(), wanted.at("f1"), kNear);
  EXPECT_EQ(score.support, wanted.at("support"));
}

TEST(EntityScores, EqualSeqeval) {
  for (const Json& c : golden().at("tags")) {
    const EntityScores scores = entity_scores(split(c.at("truth")), split(c.at("predicted")));
    expect_score(scores.all, c.at("micro"));
    EXPECT_NEAR(scores.macro_f1(), c.at("macro").at("f1"), kNear);
    EXPECT_NEAR(scores.weighted_f1(), c.at("weighted").at("f1"), kNear);
    EXPECT_EQ(scores.types.size(), c.at("types").size());
    for (const auto& [type, score] : scores.types) {
      SCOPED_TRACE(type);
      ASSERT_TRUE(c.at("types").contains(type));
      expect_score(score, c.at("types").at(type));
    }
  }
  EXPECT_GE(golden().at("tags").size(), 20u);
}

int64_t entities(const std::vector<std::string>& tags) {
  return entity_scores({tags}, {tags}).all.support;
}

TEST(EntityScores, WhereEntitiesBeginAndEnd) {
  EXPECT_EQ(entities({"O", "I-A", "I-A", "O"}), 1);
  EXPECT_EQ(entities({"I-A", "I-B", "B-B"}), 3);
  EXPECT_EQ(entities({"B-A", "E-A", "I-A"}), 2);
  EXPECT_EQ(entities({"S-A", "S-A", "E-A"}), 3);
  EXPECT_EQ(entities({"person", "person", "O"}), 1);
  EXPECT_EQ(entities({"O", "O"}), 0);
  // A sentence's end ends an entity.
  EXPECT_EQ(entity_scores({{"B-A"}, {"I-A"}}, {{"B-A"}, {"I-A"}}).all.support, 2);
}

TEST(EntityScores, BothBordersAndTheTypeMustFit) {
  const TagSequences truth{{"B-A", "I-A", "O", "B-B"}};
  EXPECT_EQ(entity_scores(truth, {{"B-A", "O", "O", "B-B"}}).all.correct, 1);
  EXPECT_EQ(entity_scores(truth, {{"B-C", "I-C", "O", "O"}}).all.correct, 0);
  const EntityScores scores = entity_scores(truth, {{"I-A", "I-A", "O", "B-A"}});
  EXPECT_EQ(scores.all.correct, 1);
  EXPECT_DOUBLE_EQ(scores.types.at("A").precision(), 0.5);
  EXPECT_EQ(scores.types.at("B").f1(), 0);
  EXPECT_EQ(entity_scores({{"O"}}, {{"O"}}).all.f1(), 0);
}

TEST(EntityScores, WrongUseIsOurOwnFault) {
  EXPECT_THROW(entity_scores({{"O"}}, {}), Error);
  EXPECT_THROW(entity_scores({{"O"}}, {{"O", "O"}}), Error);
  EXPECT_THROW(entity_scores({{"O"}}, {{""}}), Error);
}

// Two of 0.9 of which one is right, and one of 0.6 that is: (|1.8 - 1| + |0.6 - 1|) / 3.
TEST(CalibrationError, IsTheDistanceOfConfidenceAndShareRight) {
  const std::vector<double> said{0.9, 0.9, 0.6};
  EXPECT_NEAR(calibration_error(said, {true, false, true}, 10), 0.4, 1e-12);
  EXPECT_NEAR(calibration_error(said, {true, false, true}, 1), std::abs(2.4 - 2) / 3, 1e-12);
  const std::vector<double> sure{1, 1}, none{std::nan(""), 1};
  EXPECT_EQ(calibration_error(sure, {true, true}), 0);
  EXPECT_TRUE(std::isnan(calibration_error(none, {true, true})));
}

// Every pair of one that is true and one that is not, counted.
TEST(Rankings, HaveTheAreaThatPairsSay) {
  Numbers numbers;
  std::vector<bool> truth;
  for (int64_t i = 0; i < 97; ++i) {
    numbers.push_back(static_cast<double>(i * 37 % 23));
    truth.push_back(i * 11 % 7 < 2 || (i % 23 > 15 && i % 2 == 0));
  }
  double area = 0, pairs = 0;
  for (size_t i = 0; i < truth.size(); ++i)
    for (size_t j = 0; j < truth.size(); ++j) {
      if (!truth[i] || truth[j]) continue;
      area += numbers[i] > numbers[j] ? 1 : numbers[i] == numbers[j] ? 0.5 : 0;
      ++pairs;
    }
  EXPECT_NEAR(area_under_curve(truth, numbers), area / pairs, kNear);
}

// Numbers of scikit-learn's documentation, and by hand.
TEST(Rankings, HaveKnownScores) {
  const std::vector<bool> truth{false, false, true, true};
  const Numbers numbers{0.1, 0.4, 0.35, 0.8};
  EXPECT_NEAR(area_under_curve(truth, numbers), 0.75, kNear);
  EXPECT_NEAR(average_precision(truth, numbers), 0.5 + 0.5 * 2 / 3, kNear);
  EXPECT_EQ(hits_at(truth, numbers, 1), 0.5);
  EXPECT_EQ(hits_at(truth, numbers, 2), 1);
  EXPECT_EQ(hits_at(truth, numbers, 3), 1) << "there are but two that are not true";
  const Numbers alike(4, 0.5);
  EXPECT_NEAR(area_under_curve(truth, alike), 0.5, kNear);
  EXPECT_NEAR(average_precision(truth, alike), 0.5, kNear);
  EXPECT_EQ(hits_at(truth, alike, 1), 0) << "none is above";
  const Numbers odd{0.1, std::nan(""), 0.3, 0.4};
  EXPECT_TRUE(std::isnan(area_under_curve(truth, odd)));
  EXPECT_TRUE(std::isnan(average_precision(truth, odd)));
  EXPECT_TRUE(std::isnan(hits_at(truth, odd, 1)));
}

}  // namespace
}  // namespace skein::train
