// What pictures in SVG share: a white page with a title, and text that is not read as markup.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skein::formats {

// Pixels. Letters are of a font whose letters are all as wide.
inline constexpr int64_t kLetter = 6, kLine = 14, kGap = 18;

// What is no character is shown as \x1B.
std::string svg_text(std::string_view text);
// Pixels that a page must have for its title.
int64_t svg_width_of(const std::string& title);
// The beginning of a page, whose end is "</svg>\n".
std::string svg_begin(int64_t width, int64_t height, const std::string& title);

}  // namespace skein::formats
