#include "skein/kernels/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "skein/core/profile.h"

#include "parallel.h"
#include "vector.h"

namespace skein::kernels {
namespace {

float greatest(std::span<const float> logits) {
  constexpr size_t kLanes = 16;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, logits[0]);
  for (size_t i = 0; i + kLanes <= logits.size(); i += kLanes)
    for (size_t l = 0; l < kLanes; ++l)
      lanes[l] = logits[i + l] > lanes[l] ? logits[i + l] : lanes[l];
  for (size_t i = logits.size() / kLanes * kLanes; i < logits.size(); ++i)
    lanes[0] = std::max(lanes[0], logits[i]);
  return *std::max_element(lanes, lanes + kLanes);
}

// 0 where there is none.
int32_t fault_of(std::span<const float> logits, float top) {
  unsigned unordered = 0;
  for (float logit : logits) unordered |= logit != logit;
  if (unordered) {
    const auto bad =
        std::find_if(logits.begin(), logits.end(), [](float logit) { return std::isnan(logit); });
    return -1 - static_cast<int32_t>(bad - logits.begin());
  }
  if (std::isfinite(top)) return 0;
  return top > 0 ? kLargestIsInfinite : kAllAreMinusInfinite;
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
std::vector<int32_t> likeliest_until(std::span<const float> logits,
                                     const std::vector<double>& shares, double wanted) {
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

struct Shares {
  static constexpr size_t kChunk = 1024;
  std::vector<double> all;   // of each id
  std::vector<double> sums;  // of each kChunk of them

  double total() const { return std::accumulate(sums.begin(), sums.end(), 0.0); }
};

Shares shares_of(std::span<const float> logits, float top, double temperature) {
  Shares made{std::vector<double>(logits.size()), {}};
  for (size_t i = 0; i < logits.size(); i += Shares::kChunk) {
    const auto count = static_cast<int64_t>(std::min(Shares::kChunk, logits.size() - i));
    const float* from = logits.data() + i;
    double* to = made.all.data() + i;
    for (int64_t j = 0; j < count; ++j)
      to[j] = falling_exponential((double{from[j]} - top) / temperature);
    made.sums.push_back(lane_sum<double>(count, [=](int64_t j) { return to[j]; }));
  }
  return made;
}

// Index of the share in which `left` of their sum ends; takes from it what stands before.
size_t walk(std::span<const double> shares, double& left) {
  size_t chosen = 0;
  while (chosen + 1 < shares.size() && left >= shares[chosen]) left -= shares[chosen++];
  // Roundings may leave a little for the last one, which may be impossible.
  while (shares[chosen] == 0) --chosen;
  return chosen;
}

int32_t draw(const Shares& shares, double uniform) {
  double left = uniform * shares.total();
  const size_t begin = walk(shares.sums, left) * Shares::kChunk,
               count = std::min(Shares::kChunk, shares.all.size() - begin);
  return static_cast<int32_t>(begin + walk({shares.all.data() + begin, count}, left));
}

int32_t sample_row(std::span<const float> logits, const SampleArguments& c, double uniform) {
  const float top = greatest(logits);
  if (const int32_t fault = fault_of(logits, top)) return fault;
  if (c.temperature == 0 || c.top_k == 1)
    return static_cast<int32_t>(std::find(logits.begin(), logits.end(), top) - logits.begin());
  Shares shares = shares_of(logits, top, c.temperature);
  const bool some = c.top_k && static_cast<size_t>(c.top_k) < logits.size();
  if (!some && c.top_p == 1) return draw(shares, uniform);
  if (some) {
    const std::vector<double> every = std::exchange(shares.all, std::vector<double>(logits.size()));
    for (int32_t id : likeliest(logits, static_cast<size_t>(c.top_k)))
      shares.all[static_cast<size_t>(id)] = every[static_cast<size_t>(id)];
    shares.sums = {std::accumulate(shares.all.begin(), shares.all.end(), 0.0)};
  }
  const std::vector<int32_t> kept = likeliest_until(logits, shares.all, c.top_p * shares.total());
  std::vector<double> kept_shares;
  for (int32_t id : kept)
    if (shares.all[static_cast<size_t>(id)] > 0)
      kept_shares.push_back(shares.all[static_cast<size_t>(id)]);
  double left = uniform * std::accumulate(kept_shares.begin(), kept_shares.end(), 0.0);
  return kept[walk(kept_shares, left)];
}

}  // namespace

void sample(Cpu, const Tensor& logits, int64_t valid, const SampleArguments& arguments,
            const Tensor& uniforms, Out ids) {
  const Span span("sample");
  const int64_t columns = logits.dim(1);
  const float* from = logits.data<float>();
  const double* uniform = uniforms.data<double>();
  int32_t* id = ids->data<int32_t>();
  parallel_ranges(logits.dim(0), 1, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      id[row] = uniform[row] < 0 ? 0
                                 : sample_row({from + row * columns, static_cast<size_t>(valid)},
                                              arguments, uniform[row]);
  });
}

}  // namespace skein::kernels
