#include "skein/train/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "skein/core/error.h"

namespace skein::train {
namespace {

double quotient(double numerator, double denominator) {
  return denominator == 0 ? 0 : numerator / denominator;
}

void check_lengths(size_t a, size_t b) {
  SKEIN_CHECK_EQ(a, b);
  SKEIN_CHECK(a > 0);
}

bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

bool constant(std::span<const double> values) {
  return std::ranges::all_of(values, [&](double value) { return value == values[0]; });
}

// Differences from the mean, scaled so that their squares neither overflow nor vanish.
std::vector<double> centred(std::span<const double> values) {
  double size = 0, sum = 0;
  for (const double value : values) size = std::max(size, std::abs(value));
  for (const double value : values) sum += value / size;
  const double mean = sum / values.size();
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
  std::ranges::sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = (begin + end + 1) / 2.0;
    begin = end;
  }
  return ranks;
}

}  // namespace

double ClassScore::precision() const { return quotient(correct, predicted); }

double ClassScore::recall() const { return quotient(correct, support); }

double ClassScore::f1() const { return quotient(2.0 * correct, support + predicted); }

double ClassScores::accuracy() const {
  double correct = 0;
  for (const ClassScore& score : classes) correct += score.correct;
  return quotient(correct, examples);
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
  for (const ClassScore& score : classes) sum += score.support * score.f1();
  return quotient(sum, examples);
}

double ClassScores::matthews() const {
  const double n = examples;
  double correct = 0, both = 0, truth = 0, guess = 0;
  for (const ClassScore& score : classes) {
    const double support = score.support, predicted = score.predicted;
    correct += score.correct;
    both += support * predicted;
    truth += support * support;
    guess += predicted * predicted;
  }
  return quotient(correct * n - both, std::sqrt(n * n - truth) * std::sqrt(n * n - guess));
}

ClassScores class_scores(std::span<const int32_t> truth, std::span<const int32_t> predicted,
                         int64_t classes) {
  check_lengths(truth.size(), predicted.size());
  ClassScores scores{.classes = std::vector<ClassScore>(classes), .examples = std::ssize(truth)};
  for (size_t i = 0; i < truth.size(); ++i) {
    SKEIN_CHECK(truth[i] >= 0 && truth[i] < classes && predicted[i] >= 0 && predicted[i] < classes);
    ++scores.classes[truth[i]].support;
    ++scores.classes[predicted[i]].predicted;
    scores.classes[truth[i]].correct += truth[i] == predicted[i];
  }
  return scores;
}

double calibration_error(std::span<const double> confidences, const std::vector<bool>& right,
                         int64_t bins) {
  SKEIN_CHECK(confidences.size() == right.size() && !right.empty() && bins > 0);
  if (!std::ranges::all_of(confidences, [](double one) { return std::isfinite(one); }))
    return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> distances(bins);
  for (size_t i = 0; i < right.size(); ++i) {
    const auto bin = static_cast<int64_t>(confidences[i] * static_cast<double>(bins));
    distances[std::clamp<int64_t>(bin, 0, bins - 1)] += confidences[i] - (right[i] ? 1 : 0);
  }
  double sum = 0;
  for (const double distance : distances) sum += std::abs(distance);
  return sum / std::ssize(right);
}

namespace {

struct Judged {
  double number;
  bool truth;
};

// The highest first; empty where a number is not finite.
std::vector<Judged> ranking(const std::vector<bool>& truth, std::span<const double> numbers) {
  SKEIN_CHECK(truth.size() == numbers.size());
  const auto right = std::ranges::count(truth, true);
  SKEIN_CHECK(right > 0 && right < std::ssize(truth));
  std::vector<Judged> made;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!std::isfinite(numbers[i])) return {};
    made.push_back({numbers[i], truth[i]});
  }
  std::ranges::sort(made, std::greater(), &Judged::number);
  return made;
}

// Of each different number from the highest on, how many are at least as high, as step(true of
// them, others of them, true with just this one, others with just this one).
template <class Step>
void each_threshold(const std::vector<Judged>& ranked, const Step& step) {
  double right = 0, wrong = 0;
  for (size_t begin = 0; begin < ranked.size();) {
    double more_right = 0, more_wrong = 0;
    size_t end = begin;
    for (; end < ranked.size() && ranked[end].number == ranked[begin].number; ++end)
      (ranked[end].truth ? more_right : more_wrong) += 1;
    right += more_right;
    wrong += more_wrong;
    step(right, wrong, more_right, more_wrong);
    begin = end;
  }
}

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double area_under_curve(const std::vector<bool>& truth, std::span<const double> numbers) {
  const std::vector<Judged> ranked = ranking(truth, numbers);
  if (ranked.empty()) return kNoNumber;
  double sum = 0, all_right = 0, all_wrong = 0;
  each_threshold(ranked, [&](double right, double wrong, double more_right, double more_wrong) {
    sum += more_wrong * (right - 0.5 * more_right);
    all_right = right;
    all_wrong = wrong;
  });
  return sum / (all_right * all_wrong);
}

double average_precision(const std::vector<bool>& truth, std::span<const double> numbers) {
  const std::vector<Judged> ranked = ranking(truth, numbers);
  if (ranked.empty()) return kNoNumber;
  double sum = 0, all_right = 0;
  each_threshold(ranked, [&](double right, double wrong, double more_right, double) {
    sum += more_right * right / (right + wrong);
    all_right = right;
  });
  return sum / all_right;
}

double hits_at(const std::vector<bool>& truth, std::span<const double> numbers, int64_t k) {
  SKEIN_CHECK(k > 0);
  const std::vector<Judged> ranked = ranking(truth, numbers);
  if (ranked.empty()) return kNoNumber;
  double hits = 0, right = 0, wrong = 0;
  each_threshold(ranked, [&](double all_right, double all_wrong, double, double) {
    if (all_wrong < static_cast<double>(k)) hits = all_right;
    right = all_right;
    wrong = all_wrong;
  });
  return wrong < static_cast<double>(k) ? 1 : hits / right;
}

double mean_squared_error(std::span<const double> truth, std::span<const double> predicted) {
  check_lengths(truth.size(), predicted.size());
  double sum = 0;
  for (size_t i = 0; i < truth.size(); ++i)
    sum += (truth[i] - predicted[i]) * (truth[i] - predicted[i]);
  return sum / truth.size();
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

}  // namespace skein::train
