#include "skein/kernels/adamw.h"

#include "skein/core/philox.h"
#include "skein/core/profile.h"

#include "../adamw_factors.h"
#include "parallel.h"
#include "vector.h"

namespace skein::kernels {
namespace {

// Tensors never overlap; __restrict lets the compiler know.
template <class A>
void update(const AdamWFactors<A>& f, const SliceFactors<A>& of, int64_t count,
            const A* __restrict gradient, A* __restrict master, A* __restrict m, A* __restrict v) {
  const AdamWFactors<A> a = f;
  const SliceFactors<A> s = of;
  for (int64_t i = 0; i < count; ++i) {
    const A g = gradient[i] * a.scale;
    const A first = a.beta1 * m[i] + (A(1) - a.beta1) * g;
    const A second = a.beta2 * v[i] + (A(1) - a.beta2) * g * g;
    m[i] = first;
    v[i] = second;
    master[i] =
        master[i] * s.shrink - s.step_size * first / (std::sqrt(second) * a.correction + a.epsilon);
  }
}

// In pieces whose new masters are still in the nearest cache when they are rounded.
template <class A, class T>
void update_all(const AdamWArguments& a, const AdamWSlice& slice, const AdamWOuts& to, T* working) {
  constexpr int64_t kPiece = 2048;
  AdamWFactors<A> factors(a);
  if (a.square_sum.defined()) {
    const double norm = a.gradient_scale * std::sqrt(*a.square_sum.data<double>());
    if (!std::isfinite(norm)) return;
    if (a.clip > 0 && norm > a.clip)
      factors.scale = A(a.gradient_scale * (a.clip / (norm + kClipEpsilon)));
  }
  const SliceFactors<A> of(a, slice);
  const int64_t count = to.master->size();
  const A* gradient = slice.gradient.data<A>();
  A *master = to.master->data<A>(), *m = to.m->data<A>(), *v = to.v->data<A>();
  parallel_ranges(count, std::max(thread_share(count), kPiece), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kPiece) {
      const int64_t n = std::min(kPiece, end - i);
      update(factors, of, n, gradient + i, master + i, m + i, v + i);
      for (int64_t j = i; working && j < i + n; ++j) working[j] = static_cast<T>(master[j]);
    }
  });
}

uint16_t rounded_by(float value, uint32_t bits) {
  const auto word = bits_of<uint32_t>(value);
  return (word & 0x7f800000u) == 0x7f800000u ? BFloat16(value).bits
                                             : static_cast<uint16_t>((word + bits) >> 16);
}

}  // namespace

void stochastic_round(Cpu, const RoundingStream& s, const Tensor& values, Out rounded) {
  const Span span("stochastic rounding", 0, static_cast<double>(values.bytes() + rounded->bytes()));
  if (s.square_sum.defined() && !std::isfinite(*s.square_sum.data<double>())) return;
  const float* from = values.data<float>();
  BFloat16* to = rounded->data<BFloat16>();
  parallel_ranges(values.size(), kElementGrain, [=, &s](int64_t begin, int64_t end) {
    PhiloxBlock bits{};
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = s.first + i;
      if (i == begin || at % 8 == 0) bits = philox(s.key, s.stream, static_cast<uint64_t>(at / 8));
      to[i].bits =
          rounded_by(from[i], bits[static_cast<size_t>(at % 8 / 2)] >> at % 2 * 16 & 0xffffu);
    }
  });
}

void adamw(Cpu, const AdamWArguments& arguments, const std::vector<AdamWSlice>& slices,
           const std::vector<AdamWOuts>& to) {
  for (size_t i = 0; i < slices.size(); ++i) {
    const Tensor &master = *to[i].master, &working = *to[i].working;
    const Span span(
        "adamw", 0,
        static_cast<double>(7 * master.bytes() + (working.defined() ? working.bytes() : 0)));
    visit_float(master.dtype(), [&]<class Master>(TypeTag<Master>) {
      using A = Accumulator<Master>;
      if (!working.defined()) return update_all<A, A>(arguments, slices[i], to[i], nullptr);
      visit_float(working.dtype(), [&]<class T>(TypeTag<T>) {
        update_all<A, T>(arguments, slices[i], to[i], working.data<T>());
      });
    });
  }
}

}  // namespace skein::kernels
