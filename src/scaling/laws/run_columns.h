// The columns of a table of runs and the fields of ScalingRun that they hold: of a results store,
// and of CSV as it is read and written.
#pragma once

#include <string>
#include <vector>

#include "skein/scaling/laws/results.h"

namespace skein {

// One of the three members is set.
struct RunColumn {
  std::vector<std::string> names;  // the first is written, all of them are read
  // else 0 is no number of a run: refused in numbers, unknown in whole ones
  bool zero_allowed = true;
  std::string ScalingRun::*text = nullptr;
  int64_t ScalingRun::*integer = nullptr;
  double ScalingRun::*number = nullptr;

  const std::string& name() const { return names.front(); }
};

// In the order in which they are written.
const std::vector<RunColumn>& run_columns();

}  // namespace skein
