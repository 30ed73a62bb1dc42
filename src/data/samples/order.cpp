#include "skein/data/samples/order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/philox.h"

namespace skein::data {
namespace {

constexpr int kRounds = 6;
constexpr int64_t kCheckpointEvery = 65536;
constexpr int kShareBits = 48;

// A balanced network on 2 * half_bits bits: a bijection whatever the round function gives.
uint64_t feistel(uint64_t seed, uint64_t epoch, int half_bits, uint64_t value) {
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  uint64_t left = value >> half_bits, right = value & mask;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const PhiloxBlock bits =
        philox(seed, PhiloxBlock{static_cast<uint32_t>(right), round, static_cast<uint32_t>(epoch),
                                 static_cast<uint32_t>(epoch >> 32)});
    const uint64_t mixed = left ^ (bits[0] & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits | right;
}

std::vector<uint64_t> shares_of(const std::vector<double>& weights) {
  // Divided by the largest first: sums of large weights stay finite.
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (const double weight : weights) sum += weight / largest;
  std::vector<uint64_t> shares;
  for (const double weight : weights) {
    SKEIN_CHECK(std::isfinite(weight) && weight > 0);
    const int64_t share = std::llround(std::ldexp(weight / largest / sum, kShareBits));
    shares.push_back(std::max<int64_t>(share, 1));
  }
  return shares;
}

}  // namespace

int64_t permuted(uint64_t seed, int64_t epoch, int64_t size, int64_t index) {
  SKEIN_CHECK(index >= 0 && index < size);
  const int half_bits = (std::bit_width(static_cast<uint64_t>(size - 1)) + 1) / 2;
  const uint64_t key = derive_key(seed, "sample order");
  uint64_t value = index;
  do {
    value = feistel(key, epoch, half_bits, value);
  } while (value >= static_cast<uint64_t>(size));
  return value;
}

SampleOrder::SampleOrder(std::vector<int64_t> sizes, std::vector<double> weights, uint64_t seed,
                         OrderKind kind)
    : sizes_(std::move(sizes)), seed_(seed), kind_(kind), counts_(sizes_.size(), 0) {
  SKEIN_CHECK(!sizes_.empty());
  SKEIN_CHECK_EQ(sizes_.size(), weights.size());
  SKEIN_CHECK(std::all_of(sizes_.begin(), sizes_.end(), [](int64_t size) { return size > 0; }));
  shares_ = shares_of(weights);
  checkpoints_.push_back(counts_);
}

SampleIndex SampleOrder::at(int64_t index) const {
  SKEIN_CHECK(index >= 0);
  if (kind_ == OrderKind::once) return one_after_the_other(index);
  SampleIndex found;
  int64_t count = index;
  if (sizes_.size() > 1) {
    const std::lock_guard lock(mutex_);
    seek(index);
    found.dataset = choose(index);
    count = counts_[found.dataset];
  }
  const int64_t size = sizes_[found.dataset];
  found.epoch = count / size;
  found.sample = kind_ == OrderKind::shuffled ? permuted(seed_, found.epoch, size, count % size)
                                              : count % size;
  return found;
}

SampleIndex SampleOrder::one_after_the_other(int64_t index) const {
  SampleIndex found{0, index % samples_per_epoch(), index / samples_per_epoch()};
  while (found.sample >= sizes_[found.dataset]) found.sample -= sizes_[found.dataset++];
  return found;
}

double SampleOrder::seen_again(int64_t count) const {
  double again = 0;
  for (size_t k = 0; k < sizes_.size(); ++k) {
    const double taken = std::ldexp(shares_[k], -kShareBits) * count;
    again += std::max(0.0, taken - sizes_[k]);
  }
  return again;
}

void SampleOrder::seek(int64_t index) const {
  const int64_t last_known = std::ssize(checkpoints_) - 1;
  const int64_t block = std::min(index / kCheckpointEvery, last_known);
  if (index < next_ || block * kCheckpointEvery > next_) {
    next_ = block * kCheckpointEvery;
    counts_ = checkpoints_[block];
  }
  while (next_ < index) {
    ++counts_[choose(next_)];
    ++next_;
    if (next_ == std::ssize(checkpoints_) * kCheckpointEvery) checkpoints_.push_back(counts_);
  }
}

int SampleOrder::choose(int64_t index) const {
  // Integers modulo 2^64: exact, for what is owed to a store is a few samples at most. Floats would
  // let a compiler's fused multiply-add decide ties, and the order of a run hang on the build.
  const auto owed = [&](size_t k) {
    return static_cast<int64_t>(shares_[k] * (static_cast<uint64_t>(index) + 1) -
                                (static_cast<uint64_t>(counts_[k]) << kShareBits));
  };
  size_t best = 0;
  for (size_t k = 1; k < sizes_.size(); ++k)
    if (owed(k) > owed(best)) best = k;
  return narrow<int>(best);
}

}  // namespace skein::data
