// The losses of one token, by the formulas of skein/kernels/policy.h.
#pragma once

#include <cmath>

#include "skein/kernels/policy.h"

#include "anywhere.h"

namespace skein::kernels {

constexpr double kMostExponent = 20;

// As std::clamp: what is no number stays so.
SKEIN_ANYWHERE inline double within(double x, double low, double high) {
  return x < low ? low : high < x ? high : x;
}

struct TokenLoss {
  double loss = 0, slope = 0, approx_kl = 0, clipped = 0, ratio = 0, ratio_off = 0;
};

SKEIN_ANYWHERE inline TokenLoss clipped_loss(const PolicyTerms& terms, double step,
                                             double advantage) {
  const double ratio = std::exp(within(step, -kMostExponent, kMostExponent));
  const double plain = -advantage * ratio,
               bounded = -advantage * within(ratio, 1 - terms.clip_low, 1 + terms.clip_high),
               larger = plain < bounded ? bounded : plain, most = -advantage * terms.dual;
  const bool cut = advantage < 0 && terms.dual > 0 && most < larger;
  const bool clipped = bounded > plain || cut;
  const bool moves = !clipped && std::abs(step) <= kMostExponent;
  return {cut ? most : larger,
          moves ? plain : 0,
          0.5 * step * step,
          static_cast<double>(clipped),
          ratio,
          static_cast<double>(ratio != 1)};
}

SKEIN_ANYWHERE inline void add_kl(const PolicyTerms& terms, double d, TokenLoss& token) {
  if (terms.k2 != 0) {
    token.loss += terms.k2 * (0.5 * d * d);
    token.slope += terms.k2 * d;
  }
  if (terms.k3 != 0) {
    const double near = within(d, -kMostExponent, kMostExponent);
    token.loss += terms.k3 * (std::expm1(-near) + near);
    if (near == d) token.slope -= terms.k3 * std::expm1(-d);
  }
}

// known: the token's columns.
SKEIN_ANYWHERE inline TokenLoss token_loss(const PolicyTerms& terms, double logp,
                                           const float* known) {
  TokenLoss made = clipped_loss(terms, logp - known[known::old_logp], known[known::advantage]);
  add_kl(terms, logp - known[known::ref_logp], made);
  made.loss *= known[known::factor];
  made.slope *= known[known::factor];
  return made;
}

struct ValueLoss {
  double loss = 0, slope = 0, clipped = 0;
};

SKEIN_ANYWHERE inline ValueLoss value_loss(const ValueTerms& terms, double x, const float* known) {
  const double value = (x - terms.mean) / terms.deviation, target = known[known::return_to_go],
               old_value = known[known::old_value];
  const double distance = value - target;
  const double near = terms.clip > 0
                          ? within(value, old_value - terms.clip, old_value + terms.clip) - target
                          : distance;
  const double factor = terms.coefficient * known[known::factor];
  const bool clipped = near * near > distance * distance;
  return {factor * (0.5 * (clipped ? near * near : distance * distance)),
          clipped ? 0 : factor * distance / terms.deviation, static_cast<double>(clipped)};
}

}  // namespace skein::kernels
