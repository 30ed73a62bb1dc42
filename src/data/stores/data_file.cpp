#include "skein/data/stores/data_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
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

DataEntry data_entry(const std::string& text) {
  DataEntry entry{1, text};
  const size_t colon = text.find(':');
  double weight = 0;
  const char* end = text.data() + std::min(colon, text.size());
  const auto [stop, error] = std::from_chars(text.data(), end, weight);
  // else a path with a colon in it, or with none
  if (colon != std::string::npos && colon > 0 && stop == end) {
    entry = {weight, text.substr(colon + 1)};
    require(error == std::errc{} && std::isfinite(weight) && weight > 0,
            "data entry \"{}\" has weight {}; a weight is a number above 0, as in \"0.7:{}\"", text,
            text.substr(0, colon), entry.path);
  }
  require(!entry.path.empty(), "data entry \"{}\" names no path; write \"path\" or \"weight:path\"",
          text);
  return entry;
}

std::string DataFile::identity() const {
  return fmt::format("{} bytes with sum {:016x}", bytes, sum);
}

DataFile store_file(const std::string& option, const std::string& path, int64_t bytes,
                    uint64_t fingerprint, std::shared_ptr<const SummedFile> store) {
  return {option, shortest(path), bytes, fingerprint, std::move(store)};
}

std::vector<DataFile> store_files(const std::string& option,
                                  const std::vector<std::shared_ptr<TokenStore>>& stores) {
  std::vector<DataFile> files;
  for (const auto& store : stores)
    files.push_back(store_file(option, store->path(), store->bytes(), store->fingerprint(), store));
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
