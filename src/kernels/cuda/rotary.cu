#include "skein/core/error.h"
#include "skein/kernels/rotary_frequency.h"

#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 128;
constexpr int64_t kMaxWidth = 512;

// Handed over with the launch.
struct Frequencies {
  double value[kMaxWidth / 2];
  double amplitude;
};

struct HeadSizes {
  int64_t heads, width, turned;
};

// A block a position: its angles are the same for all heads.
template <class T>
__global__ void turn(HeadSizes sizes, Frequencies frequencies, bool inverse,
                     const int32_t* positions, const T* x, T* out) {
  using A = Accumulator<T>;
  const int64_t row = blockIdx.x, heads = sizes.heads, width = sizes.width, half = sizes.turned / 2;
  for (int64_t j = threadIdx.x; j < half; j += blockDim.x) {
    const double angle = positions[row] * frequencies.value[j];
    const double turned = frequencies.amplitude * sin(angle);
    const A cosine = A(frequencies.amplitude * cos(angle)), sine = A(inverse ? -turned : turned);
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t at = (row * heads + h) * width + j;
      const A first = load(x + at), second = load(x + at + half);
      store(out + at, first * cosine - second * sine);
      store(out + at + half, second * cosine + first * sine);
    }
  }
  for (int64_t j = sizes.turned + threadIdx.x; j < width; j += blockDim.x)
    for (int64_t h = 0; h < heads; ++h)
      out[(row * heads + h) * width + j] = x[(row * heads + h) * width + j];
}

}  // namespace

void rotary(Cuda on, const Tensor& x, const Tensor& positions, const RotaryWaves& waves,
            bool inverse, Out out) {
  const int64_t width = x.dim(3);
  require(width <= kMaxWidth, "rotary positions on a GPU take heads of at most {} numbers, not {}",
          kMaxWidth, width);
  Frequencies frequencies{};
  frequencies.amplitude = waves.amplitude;
  const HeadSizes sizes{x.dim(2), width, waves.turned(width)};
  for (int64_t j = 0; j < sizes.turned / 2; ++j)
    frequencies.value[j] = rotary_frequency(waves, j, sizes.turned);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    launch("rotary", on, turn<T>, grid_of(positions.size()), kThreads, 0, sizes, frequencies,
           inverse, positions.data<int32_t>(), x.data<T>(), out->data<T>());
  });
}

}  // namespace skein::kernels
