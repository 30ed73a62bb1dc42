#include "skein/kernels/policy.h"

#include "skein/core/profile.h"

#include "../policy_formulas.h"
#include "vector.h"

namespace skein::kernels {
namespace {

template <class A>
void put(const Out& to, int64_t i, double value) {
  to->data<A>()[i] = static_cast<A>(value);
}

}  // namespace

void policy_losses(Cpu, const PolicyTerms& terms, const Tensor& losses, const Tensor& row_scale,
                   const Tensor& known, const Tensor& entropies, const PolicyOuts& outs) {
  const Span span("policy losses");
  visit_float(losses.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    for (int64_t i = 0; i < losses.size(); ++i) {
      const float* of_token = known.data<float>() + i * known::columns;
      const double logp = -static_cast<float>(losses.data<A>()[i]);
      const bool counts = row_scale.data<A>()[i] != 0;
      const TokenLoss token = counts ? token_loss(terms, logp, of_token) : TokenLoss{};
      put<A>(outs.loss, i, token.loss);
      put<A>(outs.approx_kl, i, token.approx_kl);
      put<A>(outs.clipped, i, token.clipped);
      put<A>(outs.ratio, i, token.ratio);
      put<A>(outs.ratio_off, i, token.ratio_off);
      if (outs.slopes->defined()) put<A>(outs.slopes, i, -token.slope * terms.scale);
      if (!outs.bonus->defined()) continue;
      const double pay = counts ? -terms.entropy * of_token[known::factor] : 0;
      put<A>(outs.bonus, i, static_cast<double>(entropies.data<A>()[i]) * pay);
    }
  });
}

void value_losses(Cpu, const ValueTerms& terms, const Tensor& x, const Tensor& known, Out losses,
                  Out clipped) {
  const Span span("value losses");
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    for (int64_t i = 0; i < x.size(); ++i) {
      const ValueLoss made =
          value_loss(terms, load(x.data<T>() + i), known.data<float>() + i * known::columns);
      put<A>(losses, i, made.loss);
      put<A>(clipped, i, made.clipped);
    }
  });
}

void value_losses_backward(Cpu, const ValueTerms& terms, const Tensor& x, const Tensor& known,
                           const Tensor& row_scale, Out dx) {
  const Span span("value losses backward");
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    for (int64_t i = 0; i < x.size(); ++i) {
      const ValueLoss made =
          value_loss(terms, load(x.data<T>() + i), known.data<float>() + i * known::columns);
      store(dx->data<T>() + i,
            static_cast<A>(made.slope * static_cast<double>(row_scale.data<A>()[i])));
    }
  });
}

}  // namespace skein::kernels
