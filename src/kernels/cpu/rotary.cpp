#include <algorithm>

#include "skein/core/profile.h"
#include "skein/kernels/rotary_frequency.h"

#include "position_rows.h"
#include "vector.h"

namespace skein::kernels {
namespace {

template <class T>
void turn_row(const T* a, int64_t half, const Accumulator<T>* turn, T* b) {
  using A = Accumulator<T>;
  for (int64_t j = 0; j < half; ++j) {
    const A first = load(a + j), second = load(a + half + j);
    store(b + j, first * turn[j] - second * turn[half + j]);
    store(b + half + j, second * turn[j] + first * turn[half + j]);
  }
}

}  // namespace

void rotary(Cpu, const Tensor& x, const Tensor& positions, const RotaryWaves& waves, bool inverse,
            Out out) {
  const Span span("rotary");
  const int64_t heads = x.dim(2), width = x.dim(3);
  const int64_t turned = waves.turned(width), half = turned / 2, rows = x.dim(0) * x.dim(1);
  const double amplitude = waves.amplitude;
  double* const frequency = scratch<double>(Scratch::frequencies, half);
  for (int64_t j = 0; j < half; ++j) frequency[j] = rotary_frequency(waves, j, turned);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    // cosines, then sines
    const PositionRows<A> turns(
        Scratch::turns, positions.span<int32_t>(), turned, [=](int32_t position, A* turn) {
          for (int64_t j = 0; j < half; ++j) {
            const double angle = position * frequency[j], sine = amplitude * std::sin(angle);
            turn[j] = A(amplitude * std::cos(angle));
            turn[half + j] = A(inverse ? -sine : sine);
          }
        });
    const T* in = x.data<T>();
    T* to = out->data<T>();
    parallel_ranges(rows, row_grain(heads * width), [=, &turns](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        for (int64_t h = 0; h < heads; ++h) {
          const T* const a = in + (row * heads + h) * width;
          T* const b = to + (row * heads + h) * width;
          turn_row<T>(a, half, turns.at(row), b);
          std::copy(a + turned, a + width, b + turned);
        }
    });
  });
}

}  // namespace skein::kernels
