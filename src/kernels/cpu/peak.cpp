#include "skein/kernels/peak.h"

#include <atomic>

#include "skein/core/clock.h"

#include "parallel.h"
#include "tile.h"
#include "vector.h"

namespace skein::kernels {
namespace {

// kRows * kVectors independent chains; the operands come from memory so that nothing can be known
// of them.
template <class Unit>
SKEIN_PAIRS __attribute__((noinline)) void multiply_registers(int64_t rounds, const Unit* operands,
                                                              typename Tile<Unit>::Sum* out) {
  using T = Tile<Unit>;
  using L = Lanes<Unit>;
  using Sums = Vector<typename T::Sum>;
  Sums sums[T::kRows][T::kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < T::kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < T::kVectors; ++v)
      sums[i][v] = load_vector<Sums>(out + (i * T::kVectors + v) * T::kLanes);
  const auto left = load_vector<typename L::Value>(operands);
  const auto right = load_vector<typename L::Value>(operands + T::kLanes);
  for (int64_t k = 0; k < rounds; ++k) {
#pragma GCC unroll 16
    for (int i = 0; i < T::kRows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < T::kVectors; ++v) L::add_product(sums[i][v], left, right);
  }
#pragma GCC unroll 16
  for (int i = 0; i < T::kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < T::kVectors; ++v)
      std::memcpy(out + (i * T::kVectors + v) * T::kLanes, &sums[i][v], sizeof(Sums));
}

template <class Unit>
double flops_of_registers() {
  using T = Tile<Unit>;
  const int64_t rounds =
      bf16_unit(Cpu{}) == Bf16Unit::amx_emulated && std::is_same_v<Unit, TilePair> ? 10 : 100000;
  const AmxRegisters on_tiles = amx_registers();
  const int threads = omp_get_max_threads();
  const double begin = steady_seconds();
  parallel_ranges(threads, 1, [=](int64_t, int64_t) {
    if constexpr (std::is_same_v<Unit, TilePair>) {
      on_tiles(rounds);
    } else {
      alignas(64) Unit operands[2 * T::kLanes] = {};
      alignas(64) typename T::Sum out[T::kRows * T::kColumns];
      for (int i = 0; i < T::kRows * T::kColumns; ++i) out[i] = static_cast<typename T::Sum>(i);
      multiply_registers<Unit>(rounds, operands, out);
      asm volatile("" : : "r"(out) : "memory");
    }
  });
  const double seconds = steady_seconds() - begin;
  return 2.0 * Lanes<Unit>::kDepth * Lanes<Unit>::kStep * T::kRows * T::kColumns *
         static_cast<double>(rounds) * threads / seconds;
}

}  // namespace

double register_peak(Cpu, DType dtype) {
  double rate = 0;
  visit_float(dtype, [&]<class T>(TypeTag<T>) {
    visit_unit<T>([&]<class Unit>(TypeTag<Unit>) { rate = flops_of_registers<Unit>(); });
  });
  return rate;
}

double stream_read(Cpu, const Tensor& x) {
  const float* in = x.data<float>();
  std::atomic<double> total = 0;
  parallel_ranges(x.size(), thread_share(x.size()), [&](int64_t begin, int64_t end) {
    total += lane_sum<float>(end - begin, [=](int64_t i) { return in[begin + i]; });
  });
  return total;
}

void stream_copy(Cpu, const Tensor& from, Out to) {
  const float* in = from.data<float>();
  float* out = to->data<float>();
  parallel_ranges(from.size(), thread_share(from.size()), [=](int64_t begin, int64_t end) {
    std::memcpy(out + begin, in + begin, static_cast<size_t>(end - begin) * sizeof(float));
  });
}

void stream_update(Cpu, const Tensor& with, Out a, Out b, Out c) {
  const float* g = with.data<float>();
  float *x = a->data<float>(), *y = b->data<float>(), *z = c->data<float>();
  parallel_ranges(with.size(), thread_share(with.size()), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      x[i] += g[i];
      y[i] += g[i];
      z[i] += g[i];
    }
  });
}

}  // namespace skein::kernels
