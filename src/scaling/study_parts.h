// What make_study puts together.
#pragma once

#include "skein/scaling/study.h"

namespace skein {

// For so many FLOPs; 0: ten times the largest budget. Unknown is what an approach that was not fitted would say.
TargetPrediction predict_target(const ConventionStudy& study, double flops);

}  // namespace skein
