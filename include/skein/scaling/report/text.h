// Numbers and words of the report.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "skein/scaling/study/study.h"

namespace skein::scaling::report {

// Three digits: "0.514", "12.3", "1.8×10¹⁹"; "unknown" for NaN.
std::string number_text(double value, int digits = 3);
// "74.0 B", "1.32 T", "12.3 k".
std::string count_text(double value, int digits = 3);
// "1 run", "7 runs".
std::string runs_text(int64_t count);
// "+0.31%".
std::string signed_share(double share);
// "5.88×10²³".
std::string power_text(double value, int digits = 3);

using NumberText = std::string (*)(double, int);
// "0.514 (0.480 to 0.556)"; the value alone where it has no interval.
std::string interval_text(const fit::Interval& interval, NumberText text = number_text,
                          int digits = 3);

// Of N* over C: "0.514 (0.480 to 0.556) by approach 1", of each approach that knows one.
std::vector<std::string> exponents_of(const study::ConventionStudy& study,
                                      const std::array<const char*, 3>& approaches);

// For axes: without digits that say nothing, "10¹⁷", "3 B".
std::string tick_text(double value, bool power, bool count);
// A run's name as a plot has room for it.
std::string shortened(const std::string& name);

// Residuals ln L - ln law of the main fit, in the order of its points; empty where there is no fit.
std::vector<double> residuals_of(const study::ConventionStudy& study);
// Of residuals further than four robust standard deviations (1.4826 times the median distance) from
// their median, worst first.
std::vector<size_t> outliers_of(const std::vector<double>& residuals);

}  // namespace skein::scaling::report
