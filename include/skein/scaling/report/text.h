// Numbers and words of the report.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "skein/plot/text.h"
#include "skein/scaling/study/study.h"

namespace skein::scaling::report {

using plot::count_text, plot::number_text, plot::power_text, plot::shortened, plot::signed_share,
    plot::tick_text;

// "1 run", "7 runs".
std::string runs_text(int64_t count);
using NumberText = std::string (*)(double, int);
// "0.514 (0.480 to 0.556)"; the value alone where it has no interval.
std::string interval_text(const fit::Interval& interval, NumberText text = number_text,
                          int digits = 3);

// Of N* over C: "0.514 (0.480 to 0.556) by approach 1", of each approach that knows one.
std::vector<std::string> exponents_of(const study::ConventionStudy& study,
                                      const std::array<const char*, 3>& approaches);

// Residuals ln L - ln law of the main fit, in the order of its points; empty where there is no fit.
std::vector<double> residuals_of(const study::ConventionStudy& study);
// Of residuals further than four robust standard deviations (1.4826 times the median distance) from
// their median, worst first.
std::vector<size_t> far_residuals(const std::vector<double>& residuals);

}  // namespace skein::scaling::report
