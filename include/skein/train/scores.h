// How well predictions fit what is known: classes, numbers and ranks. Pure functions; the results
// are those of scikit-learn and SciPy unless said otherwise. Both sides have the same length, at
// least 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace skein::train {

// Of one class against all others. A quotient of nothing by nothing counts as 0, as scikit-learn
// takes it.
struct ClassScore {
  int64_t support = 0;       // examples of this class
  int64_t predicted = 0;     // examples given this class
  int64_t correct = 0;       // both
  double precision() const;  // correct / predicted
  double recall() const;     // correct / support
  double f1() const;         // 2 correct / (support + predicted): the harmonic mean of the two
};

struct ClassScores {
  std::vector<ClassScore> classes;  // by class id
  int64_t examples = 0;
  double accuracy() const;  // also the micro F1, since every example has one class
  // mean F1 of the classes that occur in the truth or among the predictions
  double macro_f1() const;
  double weighted_f1() const;  // mean F1 weighted by support
  // Correlation of truth and prediction as indicator vectors in [-1, 1], for any number of classes
  // (Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient",
  // 2004). 0 when either side is all one class.
  double matthews() const;
};

// truth, predicted: class ids in [0, classes).
ClassScores class_scores(std::span<const int32_t> truth, std::span<const int32_t> predicted,
                         int64_t classes);

// How far what a model says of its certainty is from how often it is right: in `bins` equal parts
// of [0, 1] the distance of mean confidence and share right, weighed by the examples there (Guo and
// others, "On calibration of modern neural networks", 2017).
double calibration_error(std::span<const double> confidences, const std::vector<bool>& right,
                         int64_t bins = 15);

// Of rankings, such as pairs of nodes by how surely they are linked: what is true should have the
// highest numbers. Each needs some that are true and some that are not; NaN where a number is not
// finite.
// The share of the pairs of one that is true and one that is not in which the former's number is
// higher, ties counting half: the area under the ROC curve.
double area_under_curve(const std::vector<bool>& truth, std::span<const double> numbers);
// The sum over thresholds of precision times what recall gains there.
double average_precision(const std::vector<bool>& truth, std::span<const double> numbers);
// The share of those that are true whose number is above the k-th highest of those that are not, as
// the Open Graph Benchmark counts (Hu and others, 2020); 1 where the latter are fewer than k.
double hits_at(const std::vector<bool>& truth, std::span<const double> numbers, int64_t k);

double mean_squared_error(std::span<const double> truth, std::span<const double> predicted);

// Linear correlation in [-1, 1]. 0 when either side is constant, where SciPy has no number: a
// constant prediction says nothing. NaN when any number is not finite.
double pearson(std::span<const double> a, std::span<const double> b);

// pearson() of the ranks, equal numbers sharing the mean of their ranks.
double spearman(std::span<const double> a, std::span<const double> b);

}  // namespace skein::train
