#include "skein/kernels/policy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "skein/core/profile.h"

#include "vector.h"

namespace skein::kernels {
namespace {

constexpr double kMostExponent = 20;
constexpr double kNoBound = std::numeric_limits<double>::infinity();

struct TokenLoss {
  double loss = 0, slope = 0, approx_kl = 0, clipped = 0, ratio = 0, ratio_off = 0;
};

TokenLoss clipped_loss(const PolicyTerms& terms, double step, double advantage) {
  const double ratio = std::exp(std::clamp(step, -kMostExponent, kMostExponent));
  const double plain = -advantage * ratio,
               bounded = -advantage * std::clamp(ratio, 1 - terms.clip_low, 1 + terms.clip_high),
               larger = std::max(plain, bounded),
               most = advantage < 0 && terms.dual > 0 ? -advantage * terms.dual : kNoBound;
  const bool clipped = bounded > plain || most < larger;
  const bool moves = !clipped && std::abs(step) <= kMostExponent;
  return {std::min(larger, most),
          moves ? plain : 0,
          0.5 * step * step,
          static_cast<double>(clipped),
          ratio,
          static_cast<double>(ratio != 1)};
}

void add_kl(const PolicyTerms& terms, double d, TokenLoss& token) {
  if (terms.k2 != 0) {
    token.loss += terms.k2 * (0.5 * d * d);
    token.slope += terms.k2 * d;
  }
  if (terms.k3 != 0) {
    const double near = std::clamp(d, -kMostExponent, kMostExponent);
    token.loss += terms.k3 * (std::expm1(-near) + near);
    if (near == d) token.slope -= terms.k3 * std::expm1(-d);
  }
}

TokenLoss token_loss(const PolicyTerms& terms, double logp, const float* known) {
  TokenLoss made = clipped_loss(terms, logp - known[known::old_logp], known[known::advantage]);
  add_kl(terms, logp - known[known::ref_logp], made);
  made.loss *= known[known::factor];
  made.slope *= known[known::factor];
  return made;
}

template <class A>
void put(const Out& to, int64_t i, double value) {
  to->data<A>()[i] = static_cast<A>(value);
}

struct ValueLoss {
  double loss = 0, slope = 0, clipped = 0;
};

ValueLoss value_loss(const ValueTerms& terms, double x, const float* known) {
  const double value = (x - terms.mean) / terms.deviation, target = known[known::return_to_go],
               old_value = known[known::old_value];
  const double distance = value - target;
  const double near =
      terms.clip > 0 ? std::clamp(value, old_value - terms.clip, old_value + terms.clip) - target
                     : distance;
  const double factor = terms.coefficient * known[known::factor];
  const bool clipped = near * near > distance * distance;
  return {factor * (0.5 * (clipped ? near * near : distance * distance)),
          clipped ? 0 : factor * distance / terms.deviation, static_cast<double>(clipped)};
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
