// Text as Python's str understands it, in which the reference programs of the metrics are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skein::text {

// str.isspace(): the property White_Space, and the four separators of ASCII.
bool python_space(int32_t point);
// What \w matches beside "_": letters and numbers, no marks.
bool python_alphanumeric(int32_t point);
// string.punctuation: the signs of ASCII.
bool python_punctuation(char byte);

// str.split(): what stands between runs of white space. Views of `text`.
std::vector<std::string_view> python_split(std::string_view text);
// str.rstrip() and str.strip().
std::string_view right_stripped(std::string_view text);
std::string_view stripped(std::string_view text);
// str.lower(): full case mapping, with the two forms of sigma.
std::string python_lower(std::string_view text);

using Points = std::vector<int32_t>;
Points points_of(std::string_view text);
std::string utf8_of(const Points& points);

// `text` with `to` for every `from`, from left to right.
void replace_all(std::string& text, std::string_view from, std::string_view to);

}  // namespace skein::text
