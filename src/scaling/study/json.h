// A study as JSON values, for its file and for the page of a report.
#pragma once

#include "skein/core/json.h"
#include "skein/scaling/study/study.h"

namespace skein::scaling::study {

nlohmann::ordered_json json_of(const fit::Interval& interval);
// All that study_json() says but for the draws.
nlohmann::ordered_json json_of(const Study& study);

}  // namespace skein::scaling::study
