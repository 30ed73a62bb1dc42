// What lies in the folders of other programs' models.
#pragma once

#include <filesystem>
#include <string>

namespace skein::convert {

// False, too, where nobody may look.
inline bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace skein::convert
