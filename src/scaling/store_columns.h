// The columns of a results store and the fields of ScalingRun that they hold.
#pragma once

#include <vector>

#include "skein/scaling/results.h"

namespace skein {

// One of the three members is set.
struct StoreColumn {
  const char* name;
  std::string ScalingRun::*text = nullptr;
  int64_t ScalingRun::*integer = nullptr;
  double ScalingRun::*number = nullptr;
};

const std::vector<StoreColumn>& store_columns();

}  // namespace skein
