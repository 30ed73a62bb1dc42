// What make_study puts together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "skein/scaling/study/study.h"

#include "numbers.h"

namespace skein::scaling::study {

bool asks(const StudyOptions& options, Approach approach);
bool asks(const StudyOptions& options, Law law);
// "not asked for (fit.approach)", "not asked for (fit.law)".
std::string not_asked(const StudyOptions& options);

// For so many FLOPs; 0: ten times the largest budget. Unknown is what an approach that was not
// fitted would say.
TargetPrediction predict_target(const ConventionStudy& study, double flops);

// What L(N), L(D) or L(C) is fitted to, (N, D or C, loss): of the runs within a factor of 2 of the
// largest D or N the least loss at each N or D; of each budget the least loss.
std::vector<fit::XY> pairs_of_law(const Study& study, const NamedSingleLaw& law);

// The loss of a point by a law.
using Predict = std::function<double(const ScalingPoint&)>;
Predict loss_by(const ChinchillaLaw& law);
Predict loss_by(const KaplanLaw& law);
Predict loss_by(const OverTrainingLaw& law);
Predict loss_by(const DataLimitedLaw& law);

// L(N), L(D) and L(C), Kaplan's law, the over-training and the data-limited one, to the points of
// the main fit.
void fit_laws_beside(Study& study);

// Why the numbers of a law that is fitted are not to be used; "": they are, or it is not fitted.
template <class Fit>
std::string not_converged(const OtherLaw<Fit>& law) {
  if (!law.fit || law.fit->convergence.converged) return "";
  return "has not converged: " + law.fit->convergence.problem;
}

// Runs of the main fit whose loss is 20% or more off the law, furthest off first. Where L(N), L(D)
// or L(C) is fitted alone, of the runs that it is fitted to.
std::vector<Outlier> outliers_of(const Study& study);

enum class SizeMeasure { parameters, tokens };
// Where a setting did best among the runs that differ in it. field: the setting; other: what else
// may have been varied with it; along: what it is fitted over where N and D go together; what: its
// name in a problem.
BestSetting best_setting(const ScalingTable& table, ParameterCount count, double ScalingRun::*field,
                         double ScalingRun::*other, SizeMeasure along, const std::string& what);

// What a reader of a study must know before believing it.
std::vector<std::string> warnings_of(const Study& study);

}  // namespace skein::scaling::study
