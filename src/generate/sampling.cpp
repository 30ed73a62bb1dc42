#include "skein/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/philox.h"

namespace skein {

void bind(Options& options, SamplingConfig& c) {
  options.add("sample.temperature", c.temperature, "divides the logits; 0 takes the likeliest token");
  options.add("sample.top_k", c.top_k, "only the k likeliest tokens; 0: all", "tokens");
  options.add("sample.top_p", c.top_p, "only the likeliest tokens whose probabilities reach p together");
  options.add("sample.seed", c.seed, "of the draws");
}

void check(const SamplingConfig& c) {
  require(c.temperature >= 0, "sample.temperature={} must not be below 0", c.temperature);
  require(c.top_k >= 0, "sample.top_k={} must not be below 0", c.top_k);
  require(c.top_p > 0 && c.top_p <= 1, "sample.top_p={} must be above 0 and at most 1", c.top_p);
}

namespace {

float greatest(std::span<const float> logits) {
  unsigned unordered = 0;
  for (float logit : logits) unordered |= logit != logit;
  if (unordered) {
    const auto bad = std::find_if(logits.begin(), logits.end(), [](float logit) { return std::isnan(logit); });
    fail("the logit of token {} is not a number; the model's weights are damaged or diverged", bad - logits.begin());
  }
  constexpr size_t kLanes = 16;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, logits[0]);
  for (size_t i = 0; i + kLanes <= logits.size(); i += kLanes)
    for (size_t l = 0; l < kLanes; ++l) lanes[l] = logits[i + l] > lanes[l] ? logits[i + l] : lanes[l];
  for (size_t i = logits.size() / kLanes * kLanes; i < logits.size(); ++i) lanes[0] = std::max(lanes[0], logits[i]);
  const float top = *std::max_element(lanes, lanes + kLanes);
  if (!std::isfinite(top)) fail("the largest logit is {}; the model's weights are damaged or diverged", top);
  return top;
}

// Ids from likely to unlikely, only the first `most`.
std::vector<int32_t> likeliest(std::span<const float> logits, size_t most) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](int32_t a, int32_t b) {
    const float left = logits[static_cast<size_t>(a)], right = logits[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  };
  std::partial_sort(ids.begin(), ids.begin() + static_cast<int64_t>(most), ids.end(), before);
  ids.resize(most);
  return ids;
}

// The least likely of so many that their shares reach `wanted` are left out.
std::vector<int32_t> likeliest_until(std::span<const float> logits, const std::vector<double>& shares, double wanted) {
  for (size_t most = 64;; most *= 8) {
    most = std::min(most, logits.size());
    std::vector<int32_t> ids = likeliest(logits, most);
    double kept = 0;
    for (size_t count = 0; count < most; ++count) {
      kept += shares[static_cast<size_t>(ids[count])];
      if (kept < wanted && count + 1 < logits.size()) continue;
      ids.resize(count + 1);
      return ids;
    }
  }
}

// Index of the share that the part `uniform` of their sum falls into.
size_t draw(const std::vector<double>& shares, double uniform) {
  double left = uniform * std::accumulate(shares.begin(), shares.end(), 0.0);
  size_t chosen = 0;
  while (chosen + 1 < shares.size() && left >= shares[chosen]) left -= shares[chosen++];
  return chosen;
}

}  // namespace

int32_t sample(std::span<const float> logits, const SamplingConfig& c, uint64_t prompt, int64_t position) {
  const float top = greatest(logits);
  if (c.temperature == 0 || c.top_k == 1) return static_cast<int32_t>(std::find(logits.begin(), logits.end(), top) - logits.begin());
  const PhiloxBlock bits = philox(derive_key(c.seed, "sample"), prompt, static_cast<uint64_t>(position));
  const double uniform = uniform_double(bits[0], bits[1]);
  const auto share_of = [&](float logit) { return std::exp((double{logit} - top) / c.temperature); };
  std::vector<double> shares(logits.size());
  const bool some = c.top_k && static_cast<size_t>(c.top_k) < logits.size();
  if (!some) std::transform(logits.begin(), logits.end(), shares.begin(), share_of);
  if (!some && c.top_p == 1) return static_cast<int32_t>(draw(shares, uniform));
  std::vector<int32_t> ids;
  if (some) {
    ids = likeliest(logits, static_cast<size_t>(c.top_k));
    for (int32_t id : ids) shares[static_cast<size_t>(id)] = share_of(logits[static_cast<size_t>(id)]);
  }
  const double wanted = c.top_p * std::accumulate(shares.begin(), shares.end(), 0.0);
  const std::vector<int32_t> kept = likeliest_until(logits, shares, wanted);
  std::vector<double> kept_shares;
  for (int32_t id : kept)
    if (shares[static_cast<size_t>(id)] > 0) kept_shares.push_back(shares[static_cast<size_t>(id)]);
  return kept[draw(kept_shares, uniform)];
}

}  // namespace skein
