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

}  // namespace

int32_t sample(std::span<const float> logits, const SamplingConfig& c, uint64_t prompt, int64_t position) {
  for (size_t i = 0; i < logits.size(); ++i)
    if (std::isnan(logits[i])) fail("the logit of token {} is not a number; the model's weights are damaged or diverged", i);
  if (c.temperature == 0 || c.top_k == 1) return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  const size_t most = c.top_k ? std::min(logits.size(), static_cast<size_t>(c.top_k)) : logits.size();
  const std::vector<int32_t> ids = likeliest(logits, most);
  std::vector<double> shares;
  double sum = 0;
  for (int32_t id : ids) {
    shares.push_back(std::exp((double{logits[static_cast<size_t>(id)]} - logits[static_cast<size_t>(ids[0])]) / c.temperature));
    sum += shares.back();
  }
  double kept = 0;
  size_t count = 0;
  while (count < ids.size() && (count == 0 || kept < c.top_p * sum)) kept += shares[count++];
  const PhiloxBlock bits = philox(derive_key(c.seed, "sample"), prompt, static_cast<uint64_t>(position));
  double left = uniform_double(bits[0], bits[1]) * kept;
  size_t chosen = 0;
  while (chosen + 1 < count && left >= shares[chosen]) left -= shares[chosen++];
  return ids[chosen];
}

}  // namespace skein
