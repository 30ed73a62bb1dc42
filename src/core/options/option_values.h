// Text to values, as options write them.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

namespace skein {

// False, with the value as it was, where the text is no such value.
//
// true on yes 1, false off no 0.
bool read_value(const std::string& text, bool& value);
// Whole numbers: 1_000, 10k, 5M, 2G, 2.5e6. For int, int64_t and uint64_t.
template <std::integral T>
bool read_value(const std::string& text, T& value);
// Finite numbers.
bool read_value(const std::string& text, double& value);
bool read_value(const std::string& text, std::string& value);
// Comma-separated lists. Blanks around items are dropped; an empty item among others is no list.
bool read_value(const std::string& text, std::vector<std::string>& value);
bool read_value(const std::string& text, std::vector<int64_t>& value);
bool read_value(const std::string& text, std::vector<double>& value);

}  // namespace skein
