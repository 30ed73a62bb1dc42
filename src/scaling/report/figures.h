// The single figures, and what they share.
#pragma once

#include <string>
#include <vector>

#include "skein/plot/figure.h"
#include "skein/scaling/report/report.h"

namespace skein::scaling::report {

using plot::Axis, plot::Figure, plot::Ink, plot::Mark, plot::Panel, plot::Sample, plot::Series;
using plot::size_ink;

// Each fills a figure with panels and its caption, or says why it is left out; "": it is not.
std::string fill_loss(const study::Study& study, Figure& figure);
std::string fill_isoflop(const study::Study& study, Figure& figure);
std::string fill_allocation(const study::Study& study, Figure& figure);
std::string fill_contour(const study::Study& study, Figure& figure);
std::string fill_residual(const study::Study& study, Figure& figure);
std::string fill_extrapolation(const study::Study& study, Figure& figure);
std::string fill_single_law(const study::Study& study, Figure& figure);
std::string fill_bootstrap(const study::Study& study, Figure& figure);
std::string fill_rate(const study::Study& study, Figure& figure);

Series straight(const std::string& title, Ink ink, Mark mark, double weight, const Sample& from,
                const Sample& to);
const std::string& run_name(const study::Study& study, int64_t run);
// So many numbers with equal ratios.
std::vector<double> log_grid(double low, double high, int count);
// The 2.5% and 97.5% quantiles of values at x; unknown for fewer than two.
Sample band_sample(double x, std::vector<double> values);
// Least and greatest C of the points of the main fit, and up to where they are drawn: the target,
// where it lies further.
struct ComputeRange {
  double low = 0, high = 0, target = 0;
};
ComputeRange compute_range(const study::Study& study);
std::string compute_label(const Convention& convention);

// Runs by size: each its own class where there are few sizes, else ranges of equal ratio.
struct SizeClasses {
  std::vector<double> upper;  // of each class, rising
  std::vector<std::string> titles;
  size_t of(double n) const;
};
SizeClasses size_classes(const std::vector<ScalingPoint>& points);

}  // namespace skein::scaling::report
