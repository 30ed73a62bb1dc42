// What is odd in a table of runs: errors where a fit would be wrong, warnings with lines where it
// may be.
#pragma once

#include <string>

#include "skein/scaling/laws/results.h"

namespace skein::scaling {

// Whether any run has that number.
bool has(const ScalingTable& table, double ScalingRun::*field);
// Takes away rows that stand twice, refuses runs that contradict themselves, warns of the rest.
void check_runs(ScalingTable& table, const TableOptions& options);
// Gives the runs their curves, sorted by tokens, from points at tokens or at steps.
void read_curves(ScalingTable& table, const std::string& path, const TableOptions& options,
                 size_t most_points);

}  // namespace skein::scaling
