#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "skein/core/error.h"
#include "skein/formats/safetensors.h"

namespace skein {
namespace {

using Json = nlohmann::json;
constexpr uintmax_t kMostIndexBytes = 100'000'000;

std::string read_whole(const std::string& path) {
  std::error_code error;
  require(std::filesystem::is_regular_file(path, error), "{} is not a file that can be read", path);
  const auto bytes = std::filesystem::file_size(path, error);
  require(!error && bytes <= kMostIndexBytes, "{} has {} bytes; {} is the most of an index", path, bytes, kMostIndexBytes);
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "cannot open {}", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Depth is bounded, and a name that stands twice in one object is an error instead of the last one winning.
Json parse_strictly(const std::string& text, const std::string& path) {
  constexpr int kMostDepth = 8;
  std::vector<std::set<std::string>> names;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    require(depth <= kMostDepth, "{} is nested deeper than an index is", path);
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key)
      require(names.back().insert(value.get<std::string>()).second, "{} names {} twice", path, value.get<std::string>());
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    fail_usage("{} is not JSON: {}", path, error.what());
  }
}

}  // namespace

std::map<std::string, std::string> read_safetensors_index(const std::string& path) {
  const Json json = parse_strictly(read_whole(path), path);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  require(map != json.end() && map->is_object() && !map->empty(), "{} has no weight_map with the file of each tensor", path);
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : map->items()) {
    require(file.is_string(), "{} gives tensor {} no file name", path, name);
    const auto text = file.get<std::string>();
    const bool plain = !text.empty() && text != "." && text != ".." && text.find('/') == std::string::npos && text.find('\0') == std::string::npos;
    require(plain, "{} places tensor {} in '{}', which is no file beside it", path, name, text.substr(0, 80));
    files[name] = text;
  }
  return files;
}

std::string safetensors_index(const std::map<std::string, std::string>& files, int64_t total_bytes, int64_t parameters) {
  return Json{{"metadata", {{"total_parameters", parameters}, {"total_size", total_bytes}}}, {"weight_map", files}}.dump(2) + "\n";
}

}  // namespace skein
