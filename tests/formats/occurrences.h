// How often a text holds a part.
#pragma once

#include <cstdint>
#include <string>

namespace skein::test {

inline int64_t count(const std::string& text, const std::string& part) {
  int64_t made = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++made;
  return made;
}

}  // namespace skein::test
