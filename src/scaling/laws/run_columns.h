// The columns of a table of runs and the fields of ScalingRun that they hold: of a results store,
// and of CSV as it is read and written.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "skein/scaling/laws/results.h"

namespace skein::scaling {

struct RunColumn {
  std::vector<std::string> names;  // the first is written, all of them are read
  std::variant<std::string ScalingRun::*, int64_t ScalingRun::*, double ScalingRun::*> member;
  // else 0 is no number of a run: refused in numbers, unknown in whole ones
  bool zero_allowed = true;

  const std::string& name() const { return names.front(); }
};

// In the order in which they are written.
const std::vector<RunColumn>& run_columns();

}  // namespace skein::scaling
