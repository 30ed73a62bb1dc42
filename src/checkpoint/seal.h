// Text that says itself whether it is damaged: a JSON object whose last field is the CRC-32C of all
// bytes before it.
#pragma once

#include <string>

namespace skein::checkpoint {

// json: an object with fields, as nlohmann::json::dump(1) writes it.
std::string sealed(std::string json);
// Throws Error(failure) that says what is wrong.
void check_seal(const std::string& text);

}  // namespace skein::checkpoint
