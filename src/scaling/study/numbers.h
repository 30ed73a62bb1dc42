// What the numbers of a study are called, in text and in JSON alike.
#pragma once

#include <vector>

#include "skein/scaling/study/study.h"

namespace skein::scaling::study {

// Whether two intervals do not meet; not where an end is unknown.
inline bool apart(const fit::Interval& one, const fit::Interval& other) {
  return one.low > other.high || other.low > one.high;
}

// Of approach 3, in the order of its draws.
struct LawNumber {
  const char* name;
  double ChinchillaLaw::*value;
  fit::Interval fit::ParametricFit::*interval;
};
inline constexpr LawNumber kLawNumbers[] = {
    {"E", &ChinchillaLaw::e, &fit::ParametricFit::e},
    {"A", &ChinchillaLaw::a, &fit::ParametricFit::a},
    {"B", &ChinchillaLaw::b, &fit::ParametricFit::b},
    {"alpha", &ChinchillaLaw::alpha, &fit::ParametricFit::alpha},
    {"beta", &ChinchillaLaw::beta, &fit::ParametricFit::beta}};

struct NamedNumber {
  const char* name;
  fit::Interval interval;
};
inline std::vector<NamedNumber> numbers_of(const fit::OffsetPowerFit& fit) {
  return {{"E", fit.e}, {"k", fit.k}, {"p", fit.p}};
}
inline std::vector<NamedNumber> numbers_of(const fit::KaplanFit& fit) {
  return {{"aN", fit.a_n}, {"aD", fit.a_d}, {"Nc", fit.n_c}, {"Dc", fit.d_c}};
}
inline std::vector<NamedNumber> numbers_of(const fit::OverTrainingFit& fit) {
  return {{"E", fit.e}, {"a", fit.a}, {"b", fit.b}, {"h", fit.h}};
}
inline std::vector<NamedNumber> numbers_of(const fit::DataLimitedFit& fit) {
  return {{"RD", fit.r_d}, {"RN", fit.r_n}};
}

// What there is to say of L(N), L(D) and L(C).
struct NamedSingleLaw {
  Law law;
  const char *x, *key;           // "N", "n"
  const char *different, *runs;  // what it needs some different ones of; what it is fitted to
  SingleLaw Study::*fits;
  double ScalingPoint::*over;
  double ScalingPoint::*held;  // near its largest; null: the least losses of budgets
};
inline constexpr NamedSingleLaw kSingleLaws[] = {
    {Law::loss_of_n, "N", "n", "N of runs within a factor of 2 of the largest D",
     "runs within a factor of 2 of the largest D", &Study::loss_of_n, &ScalingPoint::n,
     &ScalingPoint::d},
    {Law::loss_of_d, "D", "d", "D of runs within a factor of 2 of the largest N",
     "runs within a factor of 2 of the largest N", &Study::loss_of_d, &ScalingPoint::d,
     &ScalingPoint::n},
    {Law::loss_of_c, "C", "c", "budgets (fit.budget_tolerance)", "the lowest loss of each budget",
     &Study::loss_of_c, &ScalingPoint::c, nullptr}};

// What each approach says of the target.
struct TargetNumber {
  const char *key, *text;
  fit::Interval Prediction::*value;
  int digits = 3;
};
inline constexpr TargetNumber kTargetNumbers[] = {{"n", "N*", &Prediction::n},
                                                  {"d", "D*", &Prediction::d},
                                                  {"ratio", "D*/N*", &Prediction::ratio},
                                                  {"loss", "L*", &Prediction::loss, 4}};

}  // namespace skein::scaling::study
