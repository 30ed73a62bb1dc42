#include "skein/scaling/fit/power_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace skein::scaling::fit {
namespace {

// Of a logarithm of order 1 that went through exp and log.
constexpr double kLogRounding = 4 * std::numeric_limits<double>::epsilon();

struct Mix {
  double log_sum = 0;
  std::array<double, 3> shares{};
};

Mix mix_terms(const PowerSum& sum, const Unknowns& at, size_t point) {
  const size_t n = sum.terms.size();
  std::array<double, 3> exponents{};
  double most = -std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < n; ++k) {
    const PowerSum::Term& term = sum.terms[k];
    const double slope = term.slope < 0 ? term.fixed : at[n + term.slope];
    exponents[k] = at[k] + slope * term.z[point];
    most = std::max(most, exponents[k]);
  }
  Mix mix;
  double total = 0;
  for (size_t k = 0; k < n; ++k) total += mix.shares[k] = std::exp(exponents[k] - most);
  for (size_t k = 0; k < n; ++k) mix.shares[k] /= total;
  mix.log_sum = most + std::log(total);
  return mix;
}

double multiplier_of(const PowerSum& sum, const Unknowns& at) {
  return sum.multiplier < 0 ? 1 : at[sum.terms.size() + sum.multiplier];
}

// Of ln(sum of exp) over the unknowns.
Unknowns mix_gradient(const PowerSum& sum, const Mix& mix, size_t point) {
  Unknowns made{};
  for (size_t k = 0; k < sum.terms.size(); ++k) {
    const PowerSum::Term& term = sum.terms[k];
    made[k] = mix.shares[k];
    if (term.slope >= 0) made[sum.terms.size() + term.slope] += mix.shares[k] * term.z[point];
  }
  return made;
}

// Adds factor times the second derivatives of q ln(sum of exp).
void add_curvature(const PowerSum& sum, const Mix& mix, const Unknowns& slope, double q,
                   size_t point, double factor, UnknownsSquared& into) {
  const size_t terms = sum.terms.size(), n = sum.unknowns();
  for (size_t k = 0; k < terms; ++k) {
    const PowerSum::Term& term = sum.terms[k];
    const double part = factor * q * mix.shares[k];
    into[k][k] += part;
    if (term.slope < 0) continue;
    const size_t s = terms + term.slope;
    into[k][s] += part * term.z[point];
    into[s][k] += part * term.z[point];
    into[s][s] += part * term.z[point] * term.z[point];
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) into[i][j] -= factor * q * slope[i] * slope[j];
  }
  if (sum.multiplier < 0) return;
  const size_t m = terms + sum.multiplier;
  for (size_t i = 0; i < n; ++i) {
    into[m][i] += factor * slope[i];
    into[i][m] += factor * slope[i];
  }
}

Unknowns moved_levels(const PowerSum& sum, const Unknowns& at, double sign) {
  Unknowns made = at;
  for (size_t k = 0; k < sum.terms.size(); ++k) {
    const PowerSum::Term& term = sum.terms[k];
    made[k] +=
        sign * term.centre * (term.slope < 0 ? term.fixed : at[sum.terms.size() + term.slope]);
  }
  return made;
}

}  // namespace

PowerSum::Term power_term(std::string name, int slope, std::vector<double> covariate) {
  double centre = 0;
  for (double one : covariate) centre += one / covariate.size();
  for (double& one : covariate) one -= centre;
  return {std::move(name), slope, 0, std::move(covariate), centre};
}

PowerSum::Term fixed_term(std::string name, std::vector<double> covariate) {
  PowerSum::Term made = power_term(std::move(name), -1, std::move(covariate));
  made.fixed = 1;
  return made;
}

PowerSum::Term constant_term(std::string name, size_t points) {
  return {std::move(name), -1, 0, std::vector<double>(points, 0.0), 0};
}

Unknowns uncentred(const PowerSum& sum, const Unknowns& at) { return moved_levels(sum, at, -1); }
Unknowns centred(const PowerSum& sum, const Unknowns& plain) { return moved_levels(sum, plain, 1); }

double PowerSum::predict(const Unknowns& at, size_t point, Unknowns* gradient,
                         std::array<double, 3>* shares) const {
  const Mix mix = mix_terms(*this, at, point);
  const double q = multiplier_of(*this, at);
  if (shares) *shares = mix.shares;
  if (gradient) {
    *gradient = mix_gradient(*this, mix, point);
    for (double& one : *gradient) one *= q;
    if (multiplier >= 0) (*gradient)[terms.size() + multiplier] += mix.log_sum;
  }
  return q * mix.log_sum;
}

double Criterion::value(double r) const {
  const double size = std::abs(r);
  if (std::isinf(delta)) return size * size / 2;
  return size <= delta ? size * size / (2 * delta) : size - delta / 2;
}
double Criterion::slope(double r) const {
  return std::isinf(delta) ? r : std::clamp(r / delta, -1.0, 1.0);
}
double Criterion::curvature(double r) const {
  return std::isinf(delta) ? 1 : std::abs(r) <= delta ? 1 / delta : 0;
}
double Criterion::majorant(double r) const {
  return std::isinf(delta) ? 1 : 1 / std::max(std::abs(r), delta);
}

double objective(const PowerSum& sum, const Criterion& criterion, const Unknowns& at,
                 Unknowns* gradient) {
  double value = 0;
  if (gradient) gradient->fill(0);
  Unknowns one{};
  for (size_t i = 0; i < sum.size(); ++i) {
    if (sum.weight[i] == 0) continue;
    const double r = sum.predict(at, i, gradient ? &one : nullptr) - sum.ln_loss[i];
    value += sum.weight[i] * criterion.value(r);
    if (!gradient) continue;
    const double slope = sum.weight[i] * criterion.slope(r);
    for (size_t j = 0; j < kMostUnknowns; ++j) (*gradient)[j] += slope * one[j];
  }
  return value;
}

SecondOrder second_order(const PowerSum& sum, const Criterion& criterion, const Unknowns& at) {
  SecondOrder made;
  const size_t n = sum.unknowns();
  const double q = multiplier_of(sum, at);
  for (size_t i = 0; i < sum.size(); ++i) {
    if (sum.weight[i] == 0) continue;
    const Mix mix = mix_terms(sum, at, i);
    const Unknowns inner = mix_gradient(sum, mix, i);
    Unknowns slope = inner;
    for (double& one : slope) one *= q;
    if (sum.multiplier >= 0) slope[sum.terms.size() + sum.multiplier] += mix.log_sum;
    const double r = q * mix.log_sum - sum.ln_loss[i], w = sum.weight[i];
    const double pull = w * criterion.slope(r), bend = w * criterion.curvature(r),
                 above = w * criterion.majorant(r);
    double length = 0;
    for (size_t j = 0; j < n; ++j) {
      made.gradient[j] += pull * slope[j];
      length += slope[j] * slope[j];
      for (size_t k = 0; k < n; ++k) {
        made.hessian[j][k] += bend * slope[j] * slope[k];
        made.majorant[j][k] += above * slope[j] * slope[k];
      }
    }
    add_curvature(sum, mix, inner, q, i, pull, made.hessian);
    made.value += w * criterion.value(r);
    made.pull += std::abs(pull) * std::sqrt(length);
    made.rounding += w * criterion.curvature(r) * kLogRounding * std::sqrt(length);
  }
  return made;
}

}  // namespace skein::scaling::fit
