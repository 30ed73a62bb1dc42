#include "json_file.h"

#include <filesystem>

#include "skein/core/files/files.h"

namespace skein::scaling {

std::string json_file_text(const std::string& path, const std::string& wanted) {
  namespace fs = std::filesystem;
  constexpr uintmax_t kMostBytes = 256 << 20;
  std::error_code error;
  const fs::file_status found = fs::status(path, error);
  if (error) fail_to_open(error.value(), "give {}; {} cannot be read", wanted, path);
  require(fs::is_regular_file(found), "{} is {}; give {}", path,
          fs::is_directory(found) ? "a folder" : "no regular file", wanted);
  const uintmax_t bytes = fs::file_size(path);
  require(bytes <= kMostBytes, "{} has {} bytes, which is too much; give {}", path, bytes, wanted);
  return read_text(path);
}

}  // namespace skein::scaling
