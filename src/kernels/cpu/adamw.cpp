#include "skein/kernels/adamw.h"

#include "parallel.h"
#include "skein/core/profile.h"
#include "vector.h"

namespace skein::kernels {
namespace {

template <class A, class T>
void update(const AdamWArguments& a, int64_t count, const A* gradient, A* master, A* m, A* v, T* working) {
  const A beta1 = A(a.beta1), beta2 = A(a.beta2), epsilon = A(a.epsilon), scale = A(a.gradient_scale);
  const A step_size = A(a.lr / (1 - std::pow(a.beta1, static_cast<double>(a.step))));
  const A correction = A(1 / std::sqrt(1 - std::pow(a.beta2, static_cast<double>(a.step))));
  const A shrink = A(1 - a.lr * a.weight_decay);
  parallel_ranges(count, kElementGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const A g = gradient[i] * scale;
      m[i] = beta1 * m[i] + (A(1) - beta1) * g;
      v[i] = beta2 * v[i] + (A(1) - beta2) * g * g;
      master[i] = master[i] * shrink - step_size * m[i] / (std::sqrt(v[i]) * correction + epsilon);
      if (working) working[i] = static_cast<T>(master[i]);
    }
  });
}

}  // namespace

void adamw(Cpu, const AdamWArguments& arguments, const Tensor& gradient, const Tensor& master, const Tensor& m,
           const Tensor& v, const Tensor& working) {
  const Span span("adamw", 0, static_cast<double>(7 * master.bytes() + (working.defined() ? working.bytes() : 0)));
  visit_float(master.dtype(), [&](auto tag) {
    using A = Accumulator<typename decltype(tag)::type>;
    if (!working.defined())
      return update<A, A>(arguments, master.size(), gradient.data<A>(), master.data<A>(), m.data<A>(), v.data<A>(), nullptr);
    visit_float(working.dtype(), [&](auto working_tag) {
      using T = typename decltype(working_tag)::type;
      update<A, T>(arguments, master.size(), gradient.data<A>(), master.data<A>(), m.data<A>(), v.data<A>(), working.data<T>());
    });
  });
}

}  // namespace skein::kernels
