#include "skein/core/profile.h"

#include "../rotary_frequency.h"
#include "parallel.h"
#include "simd.h"
#include "vector.h"

namespace skein::kernels {
namespace {

// turns [rows, width]: cosines, then sines, of each row's position.
template <class A>
void fill_turns(const int32_t* positions, int64_t rows, int64_t width, const RotaryWaves& waves,
                bool inverse, A* turns) {
  const int64_t half = width / 2;
  double* frequency = scratch<double>(Scratch::frequencies, half);
  for (int64_t j = 0; j < half; ++j) frequency[j] = rotary_frequency(waves, j, width);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t j = 0; j < half; ++j) {
      const double angle = positions[row] * frequency[j];
      turns[row * width + j] = A(std::cos(angle));
      turns[row * width + half + j] = A(inverse ? -std::sin(angle) : std::sin(angle));
    }
}

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
  const int32_t* position = positions.data<int32_t>();
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    const T* in = x.data<T>();
    T* to = out->data<T>();
    parallel_ranges(
        x.dim(0) * x.dim(1), row_grain(heads * width), [=, &waves](int64_t begin, int64_t end) {
          auto* turns = scratch<Accumulator<T>>(Scratch::turns, (end - begin) * width);
          fill_turns(position + begin, end - begin, width, waves, inverse, turns);
          for (int64_t row = begin; row < end; ++row)
            for (int64_t h = 0; h < heads; ++h)
              turn_row<T>(in + (row * heads + h) * width, width / 2, turns + (row - begin) * width,
                          to + (row * heads + h) * width);
        });
  });
}

}  // namespace skein::kernels
