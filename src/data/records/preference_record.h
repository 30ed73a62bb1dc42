// What one JSON object of preference data says.
#pragma once

#include "skein/core/json.h"
#include "skein/data/records/preferences.h"

namespace skein::data {

enum class RecordOutcome { used, diverging, tied };

// The layout of an object; automatic where it is none of them.
PreferenceLayout layout_of(const nlohmann::json& object);

// Fills prompt, answers, values and grades. A usage error that begins with `where` for what cannot
// be used.
RecordOutcome read_record(const nlohmann::json& object, PreferenceLayout layout,
                          DivergingDialogues diverging, const std::string& where,
                          PreferenceRecord& record);
void read_demonstration(const nlohmann::json& object, const std::string& where,
                        PreferenceRecord& record);

}  // namespace skein::data
