// A plan for a large machine.
#pragma once

#include "skein/scaling/plan/plan.h"

#include "scaling/fit_fixture.h"

namespace skein::test {

inline scaling::plan::PlanOptions large_plan() {
  scaling::plan::PlanOptions o = scaling::plan::plan_defaults();
  o.budget = 5.88e23;
  o.machine.kind = "h100";
  o.machine.count = 1024;
  o.machine.price = 2;
  o.machine.carbon = 400;
  o.machine.pue = 1.1;
  return o;
}

inline bool has_warning(const scaling::plan::Plan& plan, const std::string& words) {
  return std::any_of(plan.warnings.begin(), plan.warnings.end(), [&](const std::string& text) {
    return text.find(words) != std::string::npos;
  });
}

}  // namespace skein::test
