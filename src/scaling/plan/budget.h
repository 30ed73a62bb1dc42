// What a plan may spend: FLOPs, or the time of devices.
#pragma once

#include "skein/scaling/plan/plan.h"

namespace skein::scaling::plan {

// budget_text as one of the two numbers. A usage error unless there is one budget above 0.
PlanOptions with_budget(PlanOptions options);
// Of a budget as with_budget leaves it, on a machine that is settled. A usage error for what no
// plan is made of.
double flops_of_budget(const PlanOptions& options);

}  // namespace skein::scaling::plan
