// Which learning rate and batch a plan proposes: those of the runs behind its law, or a published
// rule.
#pragma once

#include "skein/scaling/plan/plan.h"

namespace skein::scaling::plan {

// plan.lr_rule and plan.batch_rule for "of the runs behind plan.fit".
constexpr const char* kRuleOfFit = "fit";

// Names the rules that are left open, warns where the fit knows none, and takes over muP from the
// runs whose rates are taken. Usage errors for a rule that the fit has not, and for another base of
// muP.
void settle_rules(Plan& plan);

// Rate and batch of the plan's proposal, and where they are from; the rules are settled.
void settle_settings(Plan& plan);

}  // namespace skein::scaling::plan
