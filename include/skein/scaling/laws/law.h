// Scaling laws: formulas of the loss over parameters N, training tokens D and compute C, in nats a
// token.
#pragma once

#include <string>
#include <vector>

namespace skein::scaling {

// L = E + A / N^alpha + B / D^beta (Hoffmann et al., "Training compute-optimal large language
// models", 2022, approach 3).
struct ChinchillaLaw {
  double e = 0, a = 0, b = 0, alpha = 0, beta = 0;
  double loss(double n, double d) const;
  // Of N* ~ C^exponent: beta / (alpha + beta).
  double n_exponent() const { return beta / (alpha + beta); }
};

// Where a law's loss is least for C = k N D: G = (alpha A / (beta B))^(1 / (alpha + beta)); N* = G
// (C/k)^a, D* = (C/k)^b / G.
struct Optimum {
  double n = 0, d = 0, loss = 0;
  double ratio() const { return d / n; }
};
Optimum optimum(const ChinchillaLaw& law, double flops, double k = 6);

// y = coefficient x^exponent.
struct PowerLaw {
  double coefficient = 0, exponent = 0;
  double at(double x) const;
};

// y = E + k x^-p.
struct OffsetPowerLaw {
  double e = 0, k = 0, p = 0;
  double at(double x) const;
};

// L(N, D) = [(Nc/N)^(aN/aD) + Dc/D]^aD (Kaplan et al., "Scaling laws for neural language models",
// 2020, equation 1.5).
struct KaplanLaw {
  double a_n = 0, a_d = 0, n_c = 0, d_c = 0;
  double loss(double n, double d) const;
};

// Chinchilla's with the data seen again worth less: D' = U + U R (1 - exp(-(D/U - 1) / R)), U
// unique tokens; N alike with the size that is optimal for U (Muennighoff et al., "Scaling
// data-constrained language models", 2023).
struct DataLimitedLaw {
  ChinchillaLaw law;
  double r_d = 15.39, r_n = 5.31;
  double loss(double n, double d, double unique_tokens) const;
  // The size that is optimal for so many tokens: N* where D* = U.
  double best_parameters(double unique_tokens) const;
  // What D tokens and N parameters are worth where only so many tokens are unique.
  double effective_tokens(double d, double unique_tokens) const;
  double effective_parameters(double n, double unique_tokens) const;
};

// L = E + (a M^h + b M^-h) C^-h, M = D / N (Gadre et al., "Language models scale reliably with
// over-training", 2024).
struct OverTrainingLaw {
  double e = 0, a = 0, b = 0, h = 0;
  double loss(double flops, double ratio) const;
};

// Laws that others have published, by name: kaplan, chinchilla, chinchilla-replication,
// muennighoff.
// N counts all parameters, of kaplan those of the blocks; C = 6 N D.
struct PublishedLaw {
  std::string name, source;
  ChinchillaLaw law;         // of kaplan: unused
  double largest_flops = 0;  // of the runs behind it
  std::string intervals;     // what was published of them
};
const std::vector<PublishedLaw>& published_laws();

}  // namespace skein::scaling
