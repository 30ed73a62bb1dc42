#include "skein/scaling/laws/law.h"

#include <cmath>

#include "skein/core/error.h"

namespace skein {
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

const std::vector<PublishedLaw>& published_laws() {
  static const std::vector<PublishedLaw> laws{
      {"kaplan",
       "Kaplan et al., Scaling laws for neural language models, 2020 (arXiv 2001.08361), equation "
       "1.5 and table 2",
       "N: parameters without embeddings; C = 6 N D; WebText2",
       {},
       {0.076, 0.103, 6.4e13, 1.8e13}},
      {"chinchilla",
       "Hoffmann et al., Training compute-optimal large language models, 2022 (arXiv 2203.15556), "
       "approach 3, digits of its TeX source",
       "N: all parameters; C = 6 N D; MassiveText",
       {1.6934, 406.4, 410.7, 0.3392, 0.2849},
       {}},
      {"chinchilla-replication",
       "Besiroglu et al., Chinchilla scaling: a replication attempt, 2024 (arXiv 2404.10102)",
       "N: all parameters; C = 6 N D; the points of Hoffmann et al., 2022, figure 4",
       {1.8172, 482.01, 2085.43, 0.3478, 0.3658},
       {}},
      {"muennighoff",
       "Muennighoff et al., Scaling data-constrained language models, 2023 (arXiv 2305.16264), for "
       "data that is not repeated",
       "N: all parameters; C = 6 N D; C4",
       {std::exp(0.6255), std::exp(6.2554), std::exp(7.3050), 0.3527, 0.3527},
       {}}};
  return laws;
}

}  // namespace skein
