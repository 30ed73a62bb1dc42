#include "skein/text/scores/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/philox.h"

namespace skein::text {
namespace {

// Of 64 random bits, in [0, count).
int64_t below(uint64_t bits, int64_t count) {
  return static_cast<int64_t>(static_cast<unsigned __int128>(bits) * count >> 64);
}

Counts weighted_sums(const MeasuredSamples& measured, std::span<const int64_t> weights) {
  const int64_t width = measured.metric->width();
  Counts sums(width);
  const int64_t* counts = measured.counts.data();
  for (const int64_t weight : weights) {
    for (int64_t i = 0; i < width; ++i) sums[i] += weight * counts[i];
    counts += width;
  }
  return sums;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<int64_t> resample(int64_t samples, uint64_t seed, int64_t number) {
  const uint64_t key = derive_key(seed, "score.bootstrap");
  std::vector<int64_t> times(samples);
  for (int64_t i = 0; i < samples; i += 2) {
    const PhiloxBlock bits = philox(key, number, i / 2);
    ++times[below(uint64_t{bits[0]} << 32 | bits[1], samples)];
    if (i + 1 < samples) ++times[below(uint64_t{bits[2]} << 32 | bits[3], samples)];
  }
  return times;
}

std::vector<ResampledScores> resampled_scores(std::span<const MeasuredSamples> measured,
                                              const Resampling& resampling) {
  const int64_t samples = std::ssize(measured[0].counts) / measured[0].metric->width();
  std::vector<ResampledScores> made(measured.size());
  for (int64_t number = 0; number < resampling.resamples; ++number) {
    const std::vector<int64_t> weights = resample(samples, resampling.seed, number);
    for (size_t m = 0; m < measured.size(); ++m) {
      SKEIN_CHECK_EQ(std::ssize(measured[m].counts), samples * measured[m].metric->width());
      const NamedValues scores =
          measured[m].metric->values(weighted_sums(measured[m], weights)).scores;
      made[m].resize(scores.size());
      for (size_t s = 0; s < scores.size(); ++s) made[m][s].push_back(scores[s].second);
    }
  }
  return made;
}

Interval interval_of(std::vector<double> scores) {
  SKEIN_CHECK(!scores.empty());
  std::ranges::sort(scores);
  const size_t outside = scores.size() / 40;
  return {mean(scores), scores[outside], scores[scores.size() - 1 - outside]};
}

PairedTest paired_test(std::span<const double> first, std::span<const double> second,
                       double difference) {
  SKEIN_CHECK_EQ(first.size(), second.size());
  std::vector<double> apart;
  int64_t won = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    apart.push_back(std::abs(second[i] - first[i]));
    if (second[i] > first[i]) ++won;
  }
  const double usual = mean(apart);
  const auto above = std::ranges::count_if(
      apart, [&](double value) { return value - usual > std::abs(difference); });
  const double count = static_cast<double>(apart.size());
  return {(static_cast<double>(above) + 1) / (count + 1), static_cast<double>(won) / count};
}

}  // namespace skein::text
