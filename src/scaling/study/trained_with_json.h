// The part of a fit's JSON that says what its runs were trained with.
#pragma once

#include "skein/core/json.h"
#include "skein/scaling/study/trained_with.h"

namespace skein::scaling::study {

nlohmann::ordered_json json_of(const RunSettings& made);
// A usage error naming the file for numbers that cannot be; nlohmann's exceptions for what is
// missing.
RunSettings trained_with_of(const nlohmann::json& json, const std::string& path);

}  // namespace skein::scaling::study
