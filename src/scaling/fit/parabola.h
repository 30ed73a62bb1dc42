// A parabola by least squares, and whether its vertex counts.
#pragma once

#include <span>
#include <string>

#include "skein/scaling/laws/results.h"

namespace skein::scaling::fit {

struct Dot {
  double x = 0, y = 0;
};

struct Parabola {
  double x = kUnknown, y = kUnknown;  // the vertex
  double curvature = kUnknown;        // second derivative
  double half_width = kUnknown;       // of the range of x
  double centre = kUnknown;           // of the range of x
  // why the vertex does not count: "two sizes", "concave", "minimum at the edge"
  std::string problem;
};
Parabola fit_parabola(std::span<const Dot> dots);

}  // namespace skein::scaling::fit
