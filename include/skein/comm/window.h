// Memory that all ranks of a group see, for ranks of one host. Sums and exchanges through it read
// each peer's bytes where they lie instead of sending them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "skein/comm/work.h"
#include "skein/core/numbers.h"
#include "skein/tensor/tensor.h"

namespace skein {

class Window {
 public:
  // Bytes a rank brings: two halves that take turns, so that one is read while the next is filled.
  static constexpr int64_t kHalf = 512 << 10;
  static constexpr int64_t kSegment = 64 + 2 * kHalf;

  // segments: kSegment bytes of each rank, aligned to 64, whose first eight are zero and are
  // touched by nobody else.
  Window(int rank, std::vector<std::byte*> segments);

  int rank() const { return rank_; }
  int size() const { return narrow<int>(segments_.size()); }

  // Collectives as Group describes them: the same bits, in the same tree order.
  Work all_reduce_sum(const Tensor& tensor);
  Work reduce_scatter(const Tensor& in, const Tensor& out);
  Work all_gather(const Tensor& in, const Tensor& out);

 private:
  std::byte* half(int rank) const { return segments_[rank] + 64 + rounds_ % 2 * kHalf; }
  std::atomic<uint64_t>& arrivals(int rank) const {
    return *reinterpret_cast<std::atomic<uint64_t>*>(segments_[rank]);
  }
  // Returns when every rank has come here as often as this one.
  void meet();
  template <class T>
  void all_reduce(T* data, int64_t count);
  template <class T>
  void scatter_sums(const T* in, int64_t count, T* out);

  int rank_;
  std::vector<std::byte*> segments_;
  uint64_t met_ = 0, rounds_ = 0;
};

}  // namespace skein
