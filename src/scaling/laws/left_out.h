// Runs that are not fitted, for a reader.
#pragma once

#include <string>

#include "skein/scaling/laws/results.h"

namespace skein::scaling {

// A line for each status and reason, with the first 20 of its runs, each begun by a line break; at
// most so many lines. "" where every run is done.
std::string left_out_text(const ScalingTable& table, size_t most_lines = std::string::npos);

}  // namespace skein::scaling
