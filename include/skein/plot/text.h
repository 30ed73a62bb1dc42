// Numbers and names as plots show them.
#pragma once

#include <string>

namespace skein::plot {

// Three digits: "0.514", "12.3", "1.8×10¹⁹"; "unknown" for NaN.
std::string number_text(double value, int digits = 3);
// "74.0 B", "1.32 T", "12.3 k".
std::string count_text(double value, int digits = 3);
// "+0.31%".
std::string signed_share(double share);
// "5.88×10²³".
std::string power_text(double value, int digits = 3);

// For axes: without digits that say nothing, "10¹⁷", "3 B".
std::string tick_text(double value, bool power, bool count);
// A run's name as a plot has room for it.
std::string shortened(const std::string& name);

}  // namespace skein::plot
