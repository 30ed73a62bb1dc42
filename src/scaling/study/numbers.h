// What the numbers of a study are called, in text and in JSON alike.
#pragma once

#include <vector>

#include "skein/scaling/study/study.h"

namespace skein {

struct NamedNumber {
  const char* name;
  Interval interval;
};
inline std::vector<NamedNumber> numbers_of(const OffsetPowerFit& fit) {
  return {{"E", fit.e}, {"k", fit.k}, {"p", fit.p}};
}
inline std::vector<NamedNumber> numbers_of(const KaplanFit& fit) {
  return {{"aN", fit.a_n}, {"aD", fit.a_d}, {"Nc", fit.n_c}, {"Dc", fit.d_c}};
}
inline std::vector<NamedNumber> numbers_of(const OverTrainingFit& fit) {
  return {{"E", fit.e}, {"a", fit.a}, {"b", fit.b}, {"h", fit.h}};
}
inline std::vector<NamedNumber> numbers_of(const DataLimitedFit& fit) {
  return {{"RD", fit.r_d}, {"RN", fit.r_n}};
}

// What each approach says of the target.
struct TargetNumber {
  const char *key, *text;
  Interval TargetPrediction::*envelope, TargetPrediction::*isoflop, TargetPrediction::*parametric;
  int digits = 3;
};
inline constexpr TargetNumber kTargetNumbers[] = {
    {"n", "N*", &TargetPrediction::envelope_n, &TargetPrediction::isoflop_n, &TargetPrediction::n},
    {"d", "D*", &TargetPrediction::envelope_d, &TargetPrediction::isoflop_d, &TargetPrediction::d},
    {"ratio", "D*/N*", &TargetPrediction::envelope_ratio, &TargetPrediction::isoflop_ratio,
     &TargetPrediction::ratio},
    {"loss", "L*", &TargetPrediction::envelope_loss, &TargetPrediction::isoflop_loss,
     &TargetPrediction::loss, 4}};

}  // namespace skein
