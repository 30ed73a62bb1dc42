#include "svg_page.h"

#include <fmt/format.h>

#include "skein/core/strings.h"

namespace skein::formats {

std::string svg_text(std::string_view text) {
  std::string made;
  for (const char c : visible(text, "")) {
    switch (c) {
      case '&': made += "&amp;"; break;
      case '<': made += "&lt;"; break;
      case '>': made += "&gt;"; break;
      case '"': made += "&quot;"; break;
      default: made += c;
    }
  }
  // U+FFFE and U+FFFF are text, but not XML's.
  for (const std::string_view odd : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (size_t at = made.find(odd); at != std::string::npos; at = made.find(odd, at))
      made.replace(at, odd.size(), "\xEF\xBF\xBD");
  return made;
}

int64_t svg_width_of(const std::string& title) {
  return std::ssize(title) * (kLetter + 2) + 2 * kGap;
}

std::string svg_begin(int64_t width, int64_t height, const std::string& title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"monospace\" font-size=\"10\" xml:space=\"preserve\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"{2}\" y=\"{3}\" font-size=\"13\">{4}</text>\n",
      width, height, kGap, kLine + 2, svg_text(title));
}

}  // namespace skein::formats
