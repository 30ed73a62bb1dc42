#include "skein/data/stores/data_file.h"

#include <filesystem>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

#include "data/files/content_sum.h"
#include "data/files/token_file.h"

namespace skein::data {
namespace {

std::string shortest(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

}  // namespace

std::string DataFile::identity() const {
  return fmt::format("{} bytes with sum {:016x}", bytes, sum);
}

std::vector<DataFile> store_files(const std::string& option,
                                  const std::vector<std::shared_ptr<TokenStore>>& stores) {
  std::vector<DataFile> files;
  for (const auto& store : stores)
    files.push_back({option, shortest(store->path()), store->bytes(), store->fingerprint(), store});
  return files;
}

std::vector<DataFile> record_files(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& named) {
  std::vector<DataFile> files;
  for (const auto& [option, paths] : named)
    for (const std::string& path : paths) {
      if (path == "-" || !is_regular_file(path)) continue;
      std::error_code error;
      const uint64_t bytes = std::filesystem::file_size(path, error);
      if (error) fail("cannot examine {}: {}", path, error.message());
      files.push_back(
          {option, shortest(path), narrow<int64_t>(bytes), content_sum(path, 0, bytes)});
    }
  return files;
}

}  // namespace skein::data
