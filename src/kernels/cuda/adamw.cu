#include "skein/kernels/adamw.h"

#include "../adamw_factors.h"
#include "philox.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 256;

template <class A>
struct AdamWStep {
  AdamWFactors<A> factors;
  double scale;              // of gradients
  const double* square_sum;  // of them before that, or null
};

// What gradients are multiplied by, once a block; 0 where the norm is not finite and nothing may
// change.
template <class A>
__device__ A gradient_factor(const AdamWStep<A>& step) {
  __shared__ A factor;
  if (threadIdx.x == 0) {
    const double clip = step.factors.clip;
    factor = step.factors.scale;
    const double norm = step.square_sum ? step.scale * sqrt(*step.square_sum) : 0;
    if (!(norm < INFINITY))
      factor = 0;
    else if (clip > 0 && norm > clip)
      factor = static_cast<A>(step.scale * (clip / (norm + kClipEpsilon)));
  }
  __syncthreads();
  return factor;
}

template <class A, class T>
__global__ void update(int64_t count, AdamWStep<A> step, const A* gradient, A* master, A* m, A* v,
                       T* working) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const A factor = gradient_factor(step);
  const AdamWFactors<A>& f = step.factors;
  if (i >= count || factor == A(0)) return;
  const A g = gradient[i] * factor;
  const A first = f.beta1 * m[i] + (A(1) - f.beta1) * g;
  const A second = f.beta2 * v[i] + (A(1) - f.beta2) * g * g;
  const A value =
      master[i] * f.shrink - f.step_size * first / (sqrt(second) * f.correction + f.epsilon);
  m[i] = first;
  v[i] = second;
  master[i] = value;
  if (working) store(working + i, value);
}

// Four elements a thread, sixteen bytes at a time.
template <class T>
__global__ void update_packs(int64_t packs, AdamWStep<float> step, const Pack<float>* gradient,
                             Pack<float>* master, Pack<float>* m, Pack<float>* v, T* working) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const float factor = gradient_factor(step);
  const AdamWFactors<float>& f = step.factors;
  if (i >= packs || factor == 0) return;
  const Pack<float> g = gradient[i];
  Pack<float> first = m[i], second = v[i], value = master[i];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float scaled = g.at[k] * factor;
    first.at[k] = f.beta1 * first.at[k] + (1.0f - f.beta1) * scaled;
    second.at[k] = f.beta2 * second.at[k] + (1.0f - f.beta2) * scaled * scaled;
    value.at[k] = value.at[k] * f.shrink -
                  f.step_size * first.at[k] / (sqrtf(second.at[k]) * f.correction + f.epsilon);
    if (working) store(working + i * 4 + k, value.at[k]);
  }
  m[i] = first;
  v[i] = second;
  master[i] = value;
}

template <class A, class T>
void update_all(Cuda on, const AdamWArguments& arguments, const Tensor& gradient, const Out& master,
                const Out& m, const Out& v, T* working) {
  const int64_t count = master->size();
  const AdamWStep<A> step{AdamWFactors<A>(arguments), arguments.gradient_scale,
                          arguments.square_sum.data_or_null<double>()};
  if constexpr (std::is_same_v<A, float>) {
    if (count % 4 == 0 && aligned(gradient.bytes_data()) && aligned(master->bytes_data()) &&
        aligned(m->bytes_data()) && aligned(v->bytes_data()))
      return launch("adamw", on, update_packs<T>, grid_of(pieces_of(count / 4, kThreads)), kThreads,
                    0, count / 4, step, reinterpret_cast<const Pack<float>*>(gradient.bytes_data()),
                    reinterpret_cast<Pack<float>*>(master->bytes_data()),
                    reinterpret_cast<Pack<float>*>(m->bytes_data()),
                    reinterpret_cast<Pack<float>*>(v->bytes_data()), working);
  }
  launch("adamw", on, update<A, T>, grid_of(pieces_of(count, kThreads)), kThreads, 0, count, step,
         gradient.data<A>(), master->data<A>(), m->data<A>(), v->data<A>(), working);
}

// Eight elements a thread: those of one block of random bits.
__global__ void round_at_random(int64_t count, int64_t first, uint64_t key, uint64_t stream,
                                const double* square_sum, const float* values, BFloat16* rounded) {
  if (square_sum && !(*square_sum < INFINITY)) return;
  const int64_t block = first / 8 + static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const DeviceBlock bits = philox_on_device(key, stream, static_cast<uint64_t>(block));
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int64_t i = block * 8 + k - first;
    if (i < 0 || i >= count) continue;
    const uint32_t word = __float_as_uint(values[i]);
    if ((word & 0x7f800000u) == 0x7f800000u)
      store(rounded + i, values[i]);
    else
      rounded[i].bits =
          static_cast<uint16_t>((word + (bits.word[k / 2] >> k % 2 * 16 & 0xffffu)) >> 16);
  }
}

}  // namespace

void stochastic_round(Cuda on, const RoundingStream& s, const Tensor& values, Out rounded) {
  const int64_t blocks = pieces_of(s.first % 8 + values.size(), 8);
  launch("stochastic_round", on, round_at_random, grid_of(pieces_of(blocks, kThreads)), kThreads, 0,
         values.size(), s.first, s.key, s.stream, s.square_sum.data_or_null<double>(),
         values.data<float>(), rounded->data<BFloat16>());
}

void adamw(Cuda on, const AdamWArguments& arguments, const Tensor& gradient, Out master, Out m,
           Out v, Out working) {
  visit_float(master->dtype(), [&]<class Master>(TypeTag<Master>) {
    using A = Accumulator<Master>;
    if (!working->defined())
      return update_all<A, A>(on, arguments, gradient, master, m, v, nullptr);
    visit_float(working->dtype(), [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_same_v<Accumulator<T>, A>)
        update_all<A, T>(on, arguments, gradient, master, m, v, working->data<T>());
    });
  });
}

}  // namespace skein::kernels
