// What minimisers do with their unknowns as vectors.
#pragma once

#include <cmath>

#include "skein/scaling/fit/minimise.h"

namespace skein::scaling::fit {

inline double dot(const Unknowns& left, const Unknowns& right) {
  double sum = 0;
  for (size_t i = 0; i < kMostUnknowns; ++i) sum += left[i] * right[i];
  return sum;
}

inline double norm(const Unknowns& vector) { return std::sqrt(dot(vector, vector)); }

inline Unknowns along(const Unknowns& from, double step, const Unknowns& direction) {
  Unknowns made = from;
  for (size_t i = 0; i < kMostUnknowns; ++i) made[i] += step * direction[i];
  return made;
}

}  // namespace skein::scaling::fit
