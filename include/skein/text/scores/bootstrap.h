// How far scores would go up and down with other samples of the same kind, and whether one system
// is better than another by more than that: Koehn, "Statistical significance tests for machine
// translation evaluation" (2004), with sacrebleu's quantiles and its p.
//
// A resample is as many samples as there are, drawn with replacement. Which ones is a pure function
// of the seed, the resample's number and the place in it: all metrics and all systems get the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/text/scores/metric.h"

namespace skein::text {

struct Resampling {
  int64_t resamples = 1000;
  uint64_t seed = 12345;
};

// Of each sample, how often it stands in a resample.
std::vector<int64_t> resample(int64_t samples, uint64_t seed, int64_t number);

// What each sample counts under a metric, sample by sample: [samples, width()].
struct MeasuredSamples {
  const Metric* metric;
  std::span<const int64_t> counts;
};

// Of each entry its scores (MetricValues::scores): [score][resample]. All have the same number of
// samples, at least 1.
using ResampledScores = std::vector<std::vector<double>>;
std::vector<ResampledScores> resampled_scores(std::span<const MeasuredSamples> measured,
                                              const Resampling& resampling);

// The mean, and between which bounds 95% of the scores lie: a fortieth is left out at each end.
struct Interval {
  double mean = 0, low = 0, high = 0;
};
Interval interval_of(std::vector<double> scores);

struct PairedTest {
  // How likely a difference as large would be by chance if both were equally good: the share, with
  // one added on both sides, of resamples whose difference is above the mean one by more than the
  // real one.
  double p = 1;
  double wins = 0;  // in which share of the resamples the second is above the first
};
// first and second: scores of the same resamples. difference: of the real scores.
PairedTest paired_test(std::span<const double> first, std::span<const double> second,
                       double difference);

}  // namespace skein::text
