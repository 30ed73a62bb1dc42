#include "skein/scaling/laws/law.h"

#include <cmath>

#include "skein/core/error.h"

namespace skein::scaling {
namespace {

double balance(const ChinchillaLaw& law) {
  return std::pow(law.alpha * law.a / (law.beta * law.b), 1 / (law.alpha + law.beta));
}

// unique, and the rest at the worth of a half-life of `decay` repetitions; infinite: at its full
// worth.
double repeated(double all, double unique, double decay) {
  if (all <= unique || std::isinf(decay)) return all;
  return unique + unique * decay * -std::expm1(-(all / unique - 1) / decay);
}

}  // namespace

double ChinchillaLaw::loss(double n, double d) const {
  return e + a * std::pow(n, -alpha) + b * std::pow(d, -beta);
}

Optimum optimum(const ChinchillaLaw& law, double flops, double k) {
  require(flops > 0 && std::isfinite(flops) && k > 0,
          "a budget of {} FLOPs at {} FLOPs a parameter and token has no optimum; both must be "
          "positive",
          flops, k);
  require(law.a > 0 && law.b > 0 && law.alpha > 0 && law.beta > 0,
          "the law A {}, B {}, alpha {}, beta {} has no optimum; all four must be positive", law.a,
          law.b, law.alpha, law.beta);
  const double g = balance(law), share = law.n_exponent();
  Optimum best{g * std::pow(flops / k, share), std::pow(flops / k, 1 - share) / g, 0};
  best.loss = law.loss(best.n, best.d);
  return best;
}

double PowerLaw::at(double x) const { return coefficient * std::pow(x, exponent); }

double OffsetPowerLaw::at(double x) const { return e + k * std::pow(x, -p); }

double KaplanLaw::loss(double n, double d) const {
  return std::pow(std::pow(n_c / n, a_n / a_d) + d_c / d, a_d);
}

double DataLimitedLaw::effective_tokens(double d, double unique_tokens) const {
  return repeated(d, unique_tokens, r_d);
}

double DataLimitedLaw::best_parameters(double unique_tokens) const {
  // D* = U at C/k = (U G)^(1/b), so N* = G (U G)^(a/b) and a/b = beta/alpha.
  const double g = balance(law);
  return g * std::pow(unique_tokens * g, law.beta / law.alpha);
}

double DataLimitedLaw::effective_parameters(double n, double unique_tokens) const {
  return repeated(n, best_parameters(unique_tokens), r_n);
}

double DataLimitedLaw::loss(double n, double d, double unique_tokens) const {
  require(unique_tokens > 0, "{} unique tokens; a data-limited law needs more than none",
          unique_tokens);
  return law.loss(effective_parameters(n, unique_tokens), effective_tokens(d, unique_tokens));
}

double OverTrainingLaw::loss(double flops, double ratio) const {
  return e + (a * std::pow(ratio, h) + b * std::pow(ratio, -h)) * std::pow(flops, -h);
}

// The largest run behind each law: Kaplan's 1.5e9 parameters on 2.3e10 tokens; the last point of
// Hoffmann's figure 4, as Besiroglu et al. (2024) read it; Muennighoff's 8.7e9 parameters
// on 1.78e11 tokens. Hoffmann's range of the exponent: table 2, approach 3.
const std::vector<PublishedLaw>& published_laws() {
  static const std::vector<PublishedLaw> laws{
      {"kaplan",
       "Kaplan et al., Scaling laws for neural language models, 2020 (arXiv 2001.08361), equation "
       "1.5 and table 2",
       {},
       6 * 1.5e9 * 2.3e10,
       "none published"},
      {"chinchilla",
       "Hoffmann et al., Training compute-optimal large language models, 2022 (arXiv 2203.15556), "
       "approach 3, digits of its TeX source",
       {1.6934, 406.4, 410.7, 0.3392, 0.2849},
       1.2956e22,
       "none published but for the exponent, .454 to .455 (10% to 90% of a bootstrap): so narrow a "
       "range would take some 600,000 runs (Besiroglu et al., 2024)"},
      {"chinchilla-replication",
       "Besiroglu et al., Chinchilla scaling: a replication attempt, 2024 (arXiv 2404.10102)",
       {1.8172, 482.01, 2085.43, 0.3478, 0.3658},
       1.2956e22,
       "95%, by the covariance of a bootstrap over its 240 runs"},
      {"muennighoff",
       "Muennighoff et al., Scaling data-constrained language models, 2023 (arXiv 2305.16264), for "
       "data that is not repeated",
       {std::exp(0.6255), std::exp(6.2554), std::exp(7.3050), 0.3527, 0.3527},
       6 * 8.7e9 * 1.78e11,
       "none published"}};
  return laws;
}

}  // namespace skein::scaling
