// Sample order as a pure function of (seed, epoch, index): no shuffled list is ever stored, and the
// cursor of a run is one integer, the number of samples consumed.
#pragma once

#include <cstdint>
#include <mutex>
#include <numeric>
#include <vector>

namespace skein::data {

// A bijection on [0, size) chosen by (seed, epoch): a six-round Feistel network on the next even
// power of two, walked until it falls inside. index in [0, size).
int64_t permuted(uint64_t seed, int64_t epoch, int64_t size, int64_t index);

struct SampleIndex {
  int dataset = 0;     // which of the blended stores
  int64_t sample = 0;  // which sample of it
  int64_t epoch = 0;   // how often that store has been gone through before
};

enum class OrderKind {
  shuffled,  // by the weights of the blend, each epoch in another order
  blended,   // by the weights, each store in its own order
  once       // one store after the other, whatever the weights: for judging
};
// What data.shuffle chooses for training.
constexpr OrderKind training_order(bool shuffle) {
  return shuffle ? OrderKind::shuffled : OrderKind::blended;
}

// Blends several stores by weight. Index i of the stream takes the store with the largest
// weight_k * (i + 1) - count_k, the lowest k on ties, as Megatron-LM does; within a store, samples
// are visited in the permuted order of its own epoch.
class SampleOrder {
 public:
  // sizes: samples in each store, all > 0; weights: any positive numbers, normalised here.
  SampleOrder(std::vector<int64_t> sizes, std::vector<double> weights, uint64_t seed,
              OrderKind kind = OrderKind::shuffled);

  // Where sample `index` of the run's stream lies. Pure: any index in any order, from any thread.
  // Amortised O(1) for ascending indices; going back recounts from the last checkpointed count
  // (every 65,536 indices).
  SampleIndex at(int64_t index) const;
  int64_t samples_per_epoch() const { return std::reduce(sizes_.begin(), sizes_.end()); }
  // How many of the first `count` samples of the stream were there before; where stores are
  // blended, to a sample of each.
  double seen_again(int64_t count) const;

 private:
  SampleIndex one_after_the_other(int64_t index) const;
  void seek(int64_t index) const;
  int choose(int64_t index) const;

  std::vector<int64_t> sizes_;
  std::vector<uint64_t> shares_;  // normalised weights in units of 2^-48
  uint64_t seed_;
  OrderKind kind_;
  mutable std::mutex mutex_;
  mutable std::vector<std::vector<int64_t>> checkpoints_;  // counts before index k * 65,536
  mutable int64_t next_ = 0;                               // the index that counts_ stands before
  mutable std::vector<int64_t> counts_;
};

}  // namespace skein::data
