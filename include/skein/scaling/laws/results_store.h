// The results of a sweep in one HDF5 file: a row a run, with its curve and all its settings.
//
// Layout, version 1: attributes on the root format "skein-sweep-results" and version; group /runs
// with one 1-D dataset a column of table_csv (text as fixed-length UTF-8, whole numbers i64, others
// f64 with NaN for unknown) and `settings`, a run's options as JSON; group /curves with `first` i64
// [runs + 1], where each run's points begin, and `tokens` and `loss` f64. All datasets are
// contiguous, without times, so that equal results are equal bytes.
#pragma once

#include <string>
#include <vector>

#include "skein/scaling/laws/results.h"

namespace skein::scaling {

// Written whole or not at all, instead of what was there. settings: one a run.
void write_store(const std::string& path, const std::vector<ScalingRun>& runs,
                 const std::vector<Settings>& settings);
// A usage error naming path and what is wrong for any other file. Lines are those that the same
// table has as CSV.
ScalingTable read_store(const std::string& path);
std::vector<Settings> read_store_settings(const std::string& path);
// Those that are the same in all.
Settings common_settings(const std::vector<Settings>& all);

}  // namespace skein::scaling
