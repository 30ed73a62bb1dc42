// What make_study puts together.
#pragma once

#include "skein/scaling/study.h"

namespace skein {

constexpr const char* kNotAsked = "not asked for (fit.approach)";
bool asks(const StudyOptions& options, Approach approach);

// For so many FLOPs; 0: ten times the largest budget. Unknown is what an approach that was not fitted would say.
TargetPrediction predict_target(const ConventionStudy& study, double flops);

// L(N) and L(D), Kaplan's law, the over-training and the data-limited one, to the points of the main fit.
void fit_laws_beside(Study& study);

}  // namespace skein
