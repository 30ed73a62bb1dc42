#include "skein/comm/window.h"

#include <cstring>
#include <sched.h>

#include "tree_sum.h"

namespace skein {
namespace {

inline void rest() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Window::Window(int rank, std::vector<std::byte*> segments)
    : rank_(rank), segments_(std::move(segments)) {}

// Spins as long as a peer at work is likely to come soon, then lets others have the core.
void Window::meet() {
  constexpr int kSpins = 4000;
  arrivals(rank_).store(++met_, std::memory_order_release);
  for (int r = 0; r < size(); ++r)
    for (int spins = 0; arrivals(r).load(std::memory_order_acquire) < met_; ++spins)
      spins < kSpins ? rest() : void(sched_yield());
}

// Each rank brings its piece, sums its share of it from all halves, and takes the other shares from
// where they were summed. A half is filled again two pieces later, after a meeting that nobody
// reaches before they have read it.
template <class T>
void Window::all_reduce(T* data, int64_t count) {
  constexpr int64_t kPiece = kHalf / sizeof(T);
  for (int64_t begin = 0; begin < count; begin += kPiece, ++rounds_) {
    const int64_t n = std::min(kPiece, count - begin), share = (n + size() - 1) / size();
    const auto first = [&](int r) { return std::min(n, share * r); };
    std::memcpy(half(rank_), data + begin, n * sizeof(T));
    meet();
    std::vector<const T*> blocks;
    for (int r = 0; r < size(); ++r)
      blocks.push_back(reinterpret_cast<const T*>(half(r)) + first(rank_));
    sum_ranks(blocks, first(rank_ + 1) - first(rank_),
              reinterpret_cast<T*>(half(rank_)) + first(rank_));
    meet();
    for (int r = 0; r < size(); ++r)
      std::memcpy(data + begin + first(r), reinterpret_cast<const T*>(half(r)) + first(r),
                  (first(r + 1) - first(r)) * sizeof(T));
  }
}

// in: size() blocks of count. Each rank's own block is read where it lies.
template <class T>
void Window::scatter_sums(const T* in, int64_t count, T* out) {
  const int64_t piece = kHalf / sizeof(T) / size();
  for (int64_t begin = 0; begin < count; begin += piece, ++rounds_) {
    const int64_t n = std::min(piece, count - begin);
    for (int r = 0; r < size(); ++r)
      if (r != rank_)
        std::memcpy(reinterpret_cast<T*>(half(rank_)) + r * n, in + r * count + begin,
                    n * sizeof(T));
    meet();
    std::vector<const T*> blocks;
    for (int r = 0; r < size(); ++r)
      blocks.push_back(r == rank_ ? in + r * count + begin
                                  : reinterpret_cast<const T*>(half(r)) + rank_ * n);
    sum_ranks(blocks, n, out + begin);
  }
}

Work Window::all_reduce_sum(const Tensor& tensor) {
  visit_sums(tensor.dtype(),
             [&]<class T>(TypeTag<T>) { all_reduce(tensor.data<T>(), tensor.size()); });
  return {};
}

Work Window::reduce_scatter(const Tensor& in, const Tensor& out) {
  visit_sums(in.dtype(),
             [&]<class T>(TypeTag<T>) { scatter_sums(in.data<T>(), out.size(), out.data<T>()); });
  return {};
}

Work Window::all_gather(const Tensor& in, const Tensor& out) {
  const int64_t bytes = in.bytes();
  const std::byte* from = in.bytes_data();
  std::byte* to = out.bytes_data();
  for (int64_t begin = 0; begin < bytes; begin += kHalf, ++rounds_) {
    const size_t n = std::min(kHalf, bytes - begin);
    std::memcpy(half(rank_), from + begin, n);
    meet();
    for (int r = 0; r < size(); ++r)
      if (r != rank_ || from != to + r * bytes)
        std::memcpy(to + r * bytes + begin, r == rank_ ? from + begin : half(r), n);
  }
  return {};
}

}  // namespace skein
