// What all laws of the loss share, as one problem of at most five unknowns, with exact derivatives:
//
//   ln L = q ln(sum over terms k of exp(c_k + s_k z_k))
//
// Each term has an unknown level c_k; its slope s_k over the covariate z_k is an unknown too, or
// fixed. q is 1, or one of the slopes. The law of Hoffmann et al. (2022, 2203.15556, section 3.3)
// has terms (a, -alpha, ln N), (b, -beta, ln D) and (e), and q = 1. Covariates are centred, without
// which levels and slopes are nearly collinear.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/scaling/fit/fit.h"

namespace skein::scaling::fit {

constexpr int kMostUnknowns = 5;
using Unknowns = std::array<double, kMostUnknowns>;  // levels, then slopes; the rest 0
using UnknownsSquared = std::array<Unknowns, kMostUnknowns>;

struct PowerSum {
  struct Term {
    std::string name;       // "A/N^alpha": for messages
    int slope = -1;         // which of the slopes; -1: fixed
    double fixed = 0;       // the slope then
    std::vector<double> z;  // of each point, centred
    double centre = 0;      // what was taken off
  };
  std::vector<Term> terms;          // 1 to 3
  std::vector<std::string> slopes;  // their names: "alpha"
  int multiplier = -1;              // which of the slopes is q; -1: none
  std::vector<double> ln_loss;      // of each point
  std::vector<double> weight;       // how often each point counts

  int unknowns() const { return narrow<int>(terms.size() + slopes.size()); }
  size_t size() const { return ln_loss.size(); }
  // ln L of a point. `gradient` over the unknowns and `shares` of the terms, where they are asked
  // for.
  double predict(const Unknowns& at, size_t point, Unknowns* gradient = nullptr,
                 std::array<double, 3>* shares = nullptr) const;
};

// slope: of PowerSum::slopes. covariate: of each point, as it is.
PowerSum::Term power_term(std::string name, int slope, std::vector<double> covariate);
// With a slope of 1 that is no unknown.
PowerSum::Term fixed_term(std::string name, std::vector<double> covariate);
PowerSum::Term constant_term(std::string name, size_t points);
// The unknowns with the levels that belong to covariates as they are.
Unknowns uncentred(const PowerSum& sum, const Unknowns& at);
// Back: with the levels that belong to centred covariates.
Unknowns centred(const PowerSum& sum, const Unknowns& plain);

// Of a residual r of ln L, in units in which it grows like |r|: r^2 / (2 delta) up to delta and |r|
// - delta / 2 beyond (Huber, 1964, over delta). delta = infinity: r^2 / 2.
struct Criterion {
  double delta = 1e-3;
  double value(double r) const;
  double slope(double r) const;      // of value
  double curvature(double r) const;  // of value
  // slope(r) / r: of the parabola that lies above and touches at r
  double majorant(double r) const;
};

// `gradient`: where it is asked for.
double objective(const PowerSum& sum, const Criterion& criterion, const Unknowns& at,
                 Unknowns* gradient = nullptr);

struct SecondOrder {
  double value = 0;
  Unknowns gradient{};
  UnknownsSquared hessian{};  // exact, where the criterion has one
  // positive semidefinite: of the parabolas above (Gauss-Newton with Huber's weights)
  UnknownsSquared majorant{};
  double pull = 0;      // sum of the sizes of what adds up to the gradient
  double rounding = 0;  // what of the gradient may be rounding
};
SecondOrder second_order(const PowerSum& sum, const Criterion& criterion, const Unknowns& at);

}  // namespace skein::scaling::fit
