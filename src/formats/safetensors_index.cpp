#include <filesystem>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/formats/safetensors.h"

namespace skein::formats {
namespace {

using Json = nlohmann::json;
constexpr uintmax_t kMostIndexBytes = 100'000'000;
constexpr int kMostDepth = 8;

std::string read_whole(const std::string& path) {
  std::error_code error;
  require(std::filesystem::is_regular_file(path, error), "{} is not a file that can be read", path);
  const auto bytes = std::filesystem::file_size(path, error);
  require(!error && bytes <= kMostIndexBytes, "{} has {} bytes; {} is the most of an index", path,
          bytes, kMostIndexBytes);
  return read_text(path);
}

}  // namespace

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

std::map<std::string, std::string> read_safetensors_index(const std::string& path) {
  const Json json = parse_strictly<Json>(read_whole(path), path, kMostDepth);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  require(map != json.end() && map->is_object() && !map->empty(),
          "{} has no weight_map with the file of each tensor", path);
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : map->items()) {
    require(file.is_string(), "{} gives tensor {} no file name", path, name);
    const auto text = file.get<std::string>();
    require(is_plain_name(text), "{} places tensor {} in '{}', which is no file beside it", path,
            name, text.substr(0, 80));
    files[name] = text;
  }
  return files;
}

std::string safetensors_index(const std::map<std::string, std::string>& files, int64_t total_bytes,
                              int64_t parameters) {
  return Json{{"metadata", {{"total_parameters", parameters}, {"total_size", total_bytes}}},
              {"weight_map", files}}
             .dump(2) +
         "\n";
}

}  // namespace skein::formats
