// What data seen again and parameters beyond them are worth: R_D and R_N of Muennighoff et al.
// (2023), at a law that is known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "solve.h"

namespace skein::scaling::fit {

class Repeats {
 public:
  // Points that all see data again, and how often each counts.
  Repeats(const ChinchillaLaw& law, std::vector<ScalingPoint> points, std::vector<double> weight,
          const ParametricOptions& options);

  // R_D and R_N with their proof, from a grid of starts by L-BFGS and again by simplex. Where the
  // points do not show R_N, R_D alone.
  void solve(DataLimitedFit& fit) const;
  // From what was found before; where that has no R_N, R_D alone. None where it does not converge.
  std::optional<DataLimitedLaw> from(const DataLimitedLaw& near) const;

 private:
  struct RepeatMinimum;  // a minimum over the logarithms of R_D and R_N, or of R_D alone

  double objective(const DataLimitedLaw& law, Unknowns& gradient) const;
  Slope slope_of(int unknowns) const;
  RepeatMinimum search(int unknowns) const;
  double condition(const RepeatMinimum& found) const;
  double mean_residual(const DataLimitedLaw& law) const;
  std::string why_no_r_n(const RepeatMinimum& one, const RepeatMinimum& two) const;
  std::string why_not(const RepeatMinimum& found) const;

  ChinchillaLaw law_;
  std::vector<ScalingPoint> points_;
  std::vector<double> weight_;
  ParametricOptions options_;
  double total_ = 0;
};

}  // namespace skein::scaling::fit
