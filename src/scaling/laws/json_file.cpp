#include "json_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "skein/core/error.h"

namespace skein::scaling {

std::string json_file_text(const std::string& path, const std::string& wanted) {
  constexpr std::streamsize kMostBytes = 256 << 20;
  std::error_code ignored;
  require(!std::filesystem::is_directory(path, ignored), "{} is a folder; give {}", path, wanted);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  require(file.is_open(), "{} cannot be read; give {}", path, wanted);
  const std::streamsize size = file.tellg();
  require(size >= 0 && size <= kMostBytes, "{} has {} bytes, which is too much; give {}", path,
          size, wanted);
  file.seekg(0);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace skein::scaling
