#include "skein/train/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "skein/core/error.h"

namespace skein {
namespace {

double quotient(double numerator, double denominator) {
  return denominator == 0 ? 0 : numerator / denominator;
}

void check_lengths(size_t a, size_t b) {
  SKEIN_CHECK_EQ(a, b);
  SKEIN_CHECK(a > 0);
}

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

bool constant(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [&](double value) { return value == values[0]; });
}

// Differences from the mean, scaled so that their squares neither overflow nor vanish.
std::vector<double> centred(std::span<const double> values) {
  double size = 0, sum = 0;
  for (const double value : values) size = std::max(size, std::abs(value));
  for (const double value : values) sum += value / size;
  const double mean = sum / static_cast<double>(values.size());
  std::vector<double> differences(values.size());
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    differences[i] = values[i] / size - mean;
    largest = std::max(largest, std::abs(differences[i]));
  }
  for (double& difference : differences) difference = quotient(difference, largest);
  return differences;
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// From 1; equal values get the mean of the ranks they take up.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end + 1) / 2;
    begin = end;
  }
  return ranks;
}

}  // namespace

double ClassScore::precision() const {
  return quotient(static_cast<double>(correct), static_cast<double>(predicted));
}

double ClassScore::recall() const {
  return quotient(static_cast<double>(correct), static_cast<double>(support));
}

double ClassScore::f1() const {
  return quotient(2 * static_cast<double>(correct), static_cast<double>(support + predicted));
}

double ClassScores::accuracy() const {
  double correct = 0;
  for (const ClassScore& score : classes) correct += static_cast<double>(score.correct);
  return quotient(correct, static_cast<double>(examples));
}

double ClassScores::macro_f1() const {
  double sum = 0, count = 0;
  for (const ClassScore& score : classes) {
    sum += score.f1();
    count += score.support + score.predicted > 0;
  }
  return quotient(sum, count);
}

double ClassScores::weighted_f1() const {
  double sum = 0;
  for (const ClassScore& score : classes) sum += static_cast<double>(score.support) * score.f1();
  return quotient(sum, static_cast<double>(examples));
}

double ClassScores::matthews() const {
  const double n = static_cast<double>(examples);
  double correct = 0, both = 0, truth = 0, guess = 0;
  for (const ClassScore& score : classes) {
    const double support = static_cast<double>(score.support),
                 predicted = static_cast<double>(score.predicted);
    correct += static_cast<double>(score.correct);
    both += support * predicted;
    truth += support * support;
    guess += predicted * predicted;
  }
  return quotient(correct * n - both, std::sqrt(n * n - truth) * std::sqrt(n * n - guess));
}

ClassScores class_scores(std::span<const int32_t> truth, std::span<const int32_t> predicted,
                         int64_t classes) {
  check_lengths(truth.size(), predicted.size());
  ClassScores scores{.classes = std::vector<ClassScore>(static_cast<size_t>(classes)),
                     .examples = static_cast<int64_t>(truth.size())};
  for (size_t i = 0; i < truth.size(); ++i) {
    SKEIN_CHECK(truth[i] >= 0 && truth[i] < classes && predicted[i] >= 0 && predicted[i] < classes);
    ++scores.classes[static_cast<size_t>(truth[i])].support;
    ++scores.classes[static_cast<size_t>(predicted[i])].predicted;
    scores.classes[static_cast<size_t>(truth[i])].correct += truth[i] == predicted[i];
  }
  return scores;
}

double mean_squared_error(std::span<const double> truth, std::span<const double> predicted) {
  check_lengths(truth.size(), predicted.size());
  double sum = 0;
  for (size_t i = 0; i < truth.size(); ++i)
    sum += (truth[i] - predicted[i]) * (truth[i] - predicted[i]);
  return sum / static_cast<double>(truth.size());
}

double pearson(std::span<const double> a, std::span<const double> b) {
  check_lengths(a.size(), b.size());
  if (!all_finite(a) || !all_finite(b)) return std::numeric_limits<double>::quiet_NaN();
  if (constant(a) || constant(b)) return 0;
  const std::vector<double> x = centred(a), y = centred(b);
  return std::clamp(quotient(dot(x, y), std::sqrt(dot(x, x)) * std::sqrt(dot(y, y))), -1.0, 1.0);
}

double spearman(std::span<const double> a, std::span<const double> b) {
  check_lengths(a.size(), b.size());
  if (!all_finite(a) || !all_finite(b)) return std::numeric_limits<double>::quiet_NaN();
  return pearson(ranks(a), ranks(b));
}

}  // namespace skein
