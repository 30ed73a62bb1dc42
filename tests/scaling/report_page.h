// The page of a study and the numbers it holds.
#pragma once

#include "skein/scaling/report/report.h"

#include "scaling/report_checks.h"
#include "scaling/report_study.h"

namespace skein::test {

inline std::string page_of(const scaling::study::Study& study) {
  return scaling::report::report_html(study, scaling::report::figures_of(study));
}

inline nlohmann::json report_of(const scaling::study::Study& study) {
  return json_in(page_of(study));
}

}  // namespace skein::test
