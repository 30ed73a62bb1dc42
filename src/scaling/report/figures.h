// The single figures, and what they share.
#pragma once

#include <string>
#include <vector>

#include "skein/scaling/report/figure.h"

namespace skein {

ScalingFigure loss_figure(const Study& study);
ScalingFigure isoflop_figure(const Study& study);
ScalingFigure allocation_figure(const Study& study);
ScalingFigure contour_figure(const Study& study);
ScalingFigure residual_figure(const Study& study);
ScalingFigure extrapolation_figure(const Study& study);
ScalingFigure single_law_figure(const Study& study);
ScalingFigure bootstrap_figure(const Study& study);
ScalingFigure rate_figure(const Study& study);

const std::string& run_name(const Study& study, int64_t run);
// So many numbers with equal ratios.
std::vector<double> log_grid(double low, double high, int count);
// The 2.5% and 97.5% quantiles of values at x; unknown for fewer than two.
Sample band_sample(double x, std::vector<double> values);
// Least and greatest C of the points of the main fit, and up to where they are drawn: the target,
// where it lies further.
struct ComputeRange {
  double low = 0, high = 0, target = 0;
};
ComputeRange compute_range(const Study& study);
std::string compute_label(const Convention& convention);

// Runs by size: each its own class where there are few sizes, else ranges of equal ratio.
struct SizeClasses {
  std::vector<double> upper;  // of each class, rising
  std::vector<std::string> titles;
  size_t of(double n) const;
};
SizeClasses size_classes(const std::vector<ScalingPoint>& points);

}  // namespace skein
