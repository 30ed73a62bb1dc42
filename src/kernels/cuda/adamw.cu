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

// A slice of the table, and where its blocks begin among those of the launch.
template <class A, class T>
struct Entry {
  const A* gradient;
  A *master, *m, *v;
  T* working;  // or null
  int64_t count, first_block;
  SliceFactors<A> factors;
  bool wide;  // all begin at multiples of 16 bytes
};

// Goes to the kernel with its arguments, of which there may be 4 KiB.
constexpr int kEntries = 48;
template <class A, class T>
struct Table {
  int size;
  Entry<A, T> at[kEntries];
};

constexpr int64_t kBlock = 16 * kThreads;  // elements

template <class A, class T>
__device__ const Entry<A, T>& entry_of(const Table<A, T>& table, int64_t block) {
  int first = 0, count = table.size;
  while (count > 1) {
    const int half = count / 2;
    const bool later = table.at[first + half].first_block <= block;
    first += later ? half : 0;
    count = later ? count - half : half;
  }
  return table.at[first];
}

template <class A>
__device__ void move(const AdamWFactors<A>& f, const SliceFactors<A>& of, A g, A* value, A* m,
                     A* v) {
  *m = f.beta1 * *m + (A(1) - f.beta1) * g;
  *v = f.beta2 * *v + (A(1) - f.beta2) * g * g;
  *value = *value * of.shrink - of.step_size * *m / (sqrt(*v) * f.correction + f.epsilon);
}

// Sixteen bytes a thread and turn where memory allows it.
template <class A, class T>
__global__ void update(const __grid_constant__ Table<A, T> table, AdamWStep<A> step) {
  constexpr int kPack = Pack<A>::kSize;
  const A factor = gradient_factor(step);
  if (factor == A(0)) return;
  const Entry<A, T>& e = entry_of(table, blockIdx.x);
  const int64_t begin = (blockIdx.x - e.first_block) * kBlock,
                end = begin + kBlock < e.count ? begin + kBlock : e.count;
  const int64_t packed = e.wide ? end - (end - begin) % kPack : begin;
  for (int64_t i = begin + threadIdx.x * kPack; i < packed; i += kThreads * kPack) {
    const Pack<A> g = *reinterpret_cast<const Pack<A>*>(e.gradient + i);
    Pack<A>&value_there = *reinterpret_cast<Pack<A>*>(e.master + i),
    &m_there = *reinterpret_cast<Pack<A>*>(e.m + i),
    &v_there = *reinterpret_cast<Pack<A>*>(e.v + i);
    Pack<A> value = value_there, m = m_there, v = v_there;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      move(step.factors, e.factors, g.at[k] * factor, &value.at[k], &m.at[k], &v.at[k]);
      if (e.working) store(e.working + i + k, value.at[k]);
    }
    value_there = value;
    m_there = m;
    v_there = v;
  }
  for (int64_t i = packed + threadIdx.x; i < end; i += kThreads) {
    move(step.factors, e.factors, e.gradient[i] * factor, e.master + i, e.m + i, e.v + i);
    if (e.working) store(e.working + i, e.master[i]);
  }
}

template <class A, class T>
Entry<A, T> entry(const AdamWArguments& arguments, const AdamWSlice& slice, const AdamWOuts& to,
                  int64_t first_block) {
  const bool wide = aligned(slice.gradient.bytes_data()) && aligned(to.master->bytes_data()) &&
                    aligned(to.m->bytes_data()) && aligned(to.v->bytes_data());
  return {slice.gradient.data<A>(),
          to.master->data<A>(),
          to.m->data<A>(),
          to.v->data<A>(),
          to.working->data_or_null<T>(),
          to.master->size(),
          first_block,
          SliceFactors<A>(arguments, slice),
          wide};
}

template <class A, class T>
void update_all(Cuda on, const AdamWArguments& arguments, const std::vector<AdamWSlice>& slices,
                const std::vector<AdamWOuts>& to) {
  const AdamWStep<A> step{AdamWFactors<A>(arguments), arguments.gradient_scale,
                          arguments.square_sum.data_or_null<double>()};
  for (size_t s = 0; s < slices.size();) {
    Table<A, T> table{};
    int64_t blocks = 0;
    for (; s < slices.size() && table.size < kEntries; ++s) {
      table.at[table.size++] = entry<A, T>(arguments, slices[s], to[s], blocks);
      blocks += pieces_of(to[s].master->size(), kBlock);
    }
    launch("adamw", on, update<A, T>, grid_of(blocks), kThreads, 0, table, step);
  }
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

void adamw(Cuda on, const AdamWArguments& arguments, const std::vector<AdamWSlice>& slices,
           const std::vector<AdamWOuts>& to) {
  if (slices.empty()) return;
  const Tensor &master = *to.front().master, &working = *to.front().working;
  visit_float(master.dtype(), [&]<class Master>(TypeTag<Master>) {
    using A = Accumulator<Master>;
    if (!working.defined()) return update_all<A, A>(on, arguments, slices, to);
    visit_float(working.dtype(), [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_same_v<Accumulator<T>, A>) update_all<A, T>(on, arguments, slices, to);
    });
  });
}

}  // namespace skein::kernels
