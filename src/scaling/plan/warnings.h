// What a plan's reader should know beside its numbers.
#pragma once

#include <fmt/format.h>
#include <utility>

#include "skein/scaling/plan/plan.h"

namespace skein::scaling::plan {

template <class... Args>
void plan_warning(Plan& plan, fmt::format_string<Args...> text, Args&&... args) {
  plan.warnings.push_back(fmt::format(text, std::forward<Args>(args)...));
}

// Of its law, its data and its run, once all else is settled.
void warn_of_plan(Plan& plan);

}  // namespace skein::scaling::plan
