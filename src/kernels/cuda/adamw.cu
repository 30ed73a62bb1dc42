#include "skein/kernels/adamw.h"

#include "../adamw_factors.h"
#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 256;

template <class A, class T>
__global__ void update(int64_t count, AdamWFactors<A> f, const A* gradient, A* master, A* m, A* v, T* working) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const A g = gradient[i] * f.scale;
  const A first = f.beta1 * m[i] + (A(1) - f.beta1) * g;
  const A second = f.beta2 * v[i] + (A(1) - f.beta2) * g * g;
  const A value = master[i] * f.shrink - f.step_size * first / (sqrt(second) * f.correction + f.epsilon);
  m[i] = first;
  v[i] = second;
  master[i] = value;
  if (working) store(working + i, value);
}

// Four elements a thread, sixteen bytes at a time.
template <class T>
__global__ void update_packs(int64_t packs, AdamWFactors<float> f, const Pack<float>* gradient, Pack<float>* master, Pack<float>* m, Pack<float>* v,
                             T* working) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  const Pack<float> g = gradient[i];
  Pack<float> first = m[i], second = v[i], value = master[i];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float scaled = g.at[k] * f.scale;
    first.at[k] = f.beta1 * first.at[k] + (1.0f - f.beta1) * scaled;
    second.at[k] = f.beta2 * second.at[k] + (1.0f - f.beta2) * scaled * scaled;
    value.at[k] = value.at[k] * f.shrink - f.step_size * first.at[k] / (sqrtf(second.at[k]) * f.correction + f.epsilon);
    if (working) store(working + i * 4 + k, value.at[k]);
  }
  m[i] = first;
  v[i] = second;
  master[i] = value;
}

template <class A, class T>
void update_all(Cuda on, const AdamWArguments& arguments, const Tensor& gradient, const Tensor& master, const Tensor& m, const Tensor& v,
                T* working) {
  const AdamWFactors<A> factors(arguments);
  const int64_t count = master.size();
  if constexpr (std::is_same_v<A, float>) {
    if (count % 4 == 0 && aligned(gradient.bytes_data()) && aligned(master.bytes_data()) && aligned(m.bytes_data()) && aligned(v.bytes_data()))
      return launch("adamw", on, update_packs<T>, dim3(static_cast<unsigned>(pieces_of(count / 4, kThreads))), kThreads, 0, count / 4, factors,
                    reinterpret_cast<const Pack<float>*>(gradient.bytes_data()), reinterpret_cast<Pack<float>*>(master.bytes_data()),
                    reinterpret_cast<Pack<float>*>(m.bytes_data()), reinterpret_cast<Pack<float>*>(v.bytes_data()), working);
  }
  launch("adamw", on, update<A, T>, dim3(static_cast<unsigned>(pieces_of(count, kThreads))), kThreads, 0, count, factors, gradient.data<A>(),
         master.data<A>(), m.data<A>(), v.data<A>(), working);
}

}  // namespace

void adamw(Cuda on, const AdamWArguments& arguments, const Tensor& gradient, const Tensor& master, const Tensor& m, const Tensor& v,
           const Tensor& working) {
  visit_float(master.dtype(), [&](auto tag) {
    using A = Accumulator<typename decltype(tag)::type>;
    if (!working.defined()) return update_all<A, A>(on, arguments, gradient, master, m, v, nullptr);
    visit_float(working.dtype(), [&](auto working_tag) {
      using T = typename decltype(working_tag)::type;
      if constexpr (std::is_same_v<Accumulator<T>, A>) update_all<A, T>(on, arguments, gradient, master, m, v, working.data<T>());
    });
  });
}

}  // namespace skein::kernels
