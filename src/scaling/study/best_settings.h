// Where a setting did best among the runs that differ in it.
#pragma once

#include "skein/scaling/study/trained_with.h"

namespace skein {

enum class Along { parameters, tokens };

// field: the setting; other: what else may have been varied with it; along: what it is fitted over
// where N and D go together; what: its name in a problem.
BestSetting best_setting(const ScalingTable& table, ParameterCount count, double ScalingRun::*field,
                         double ScalingRun::*other, Along along, const std::string& what);

}  // namespace skein
