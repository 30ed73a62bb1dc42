#include <algorithm>
#include <filesystem>
#include <set>

#include "skein/convert/weights.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"

#include "paths.h"

namespace skein::convert {
namespace {

namespace fs = std::filesystem;

constexpr char kSingle[] = "model.safetensors", kIndex[] = "model.safetensors.index.json";

// The file of each tensor as the index says it; empty for a model in one file.
std::map<std::string, std::string> indexed(const std::string& folder) {
  const std::string index = join_path(folder, kIndex);
  if (exists(index)) {
    auto files = formats::read_safetensors_index(index);
    const bool uses_single = std::any_of(files.begin(), files.end(),
                                         [](const auto& entry) { return entry.second == kSingle; });
    require(uses_single || !exists(join_path(folder, kSingle)),
            "{} holds {}, and {} with other files: two models, perhaps; remove the one that is not "
            "meant",
            folder, kSingle, kIndex);
    return files;
  }
  require(exists(join_path(folder, kSingle)), "{} holds neither {} nor {}{}", folder, kSingle,
          kIndex,
          exists(join_path(folder, "pytorch_model.bin")) ||
                  exists(join_path(folder, "pytorch_model.bin.index.json"))
              ? "; its pytorch_model.bin is a pickled program, which is not run here: save the "
                "model again as safetensors"
              : "");
  return {};
}

void compare_with_index(const WeightFiles& found, const std::map<std::string, std::string>& index) {
  std::set<std::string> here;
  for (const StoredWeight& weight : found.weights) {
    require(here.insert(weight.name).second, "{}: tensor {} stands in two files, {} among them",
            found.path, weight.name, weight.file);
    if (index.empty()) continue;
    const auto listed = index.find(weight.name);
    require(listed != index.end(), "{}: {} holds tensor {}, which {} does not list", found.path,
            weight.file, weight.name, kIndex);
    require(listed->second == weight.file, "{}: {} holds tensor {}, which {} places in {}",
            found.path, weight.file, weight.name, kIndex, listed->second);
  }
  for (const auto& [name, file] : index)
    require(here.contains(name), "{}: {} lacks tensor {}, which {} places there", found.path, file,
            name, kIndex);
}

}  // namespace

WeightFiles open_safetensors(const std::string& folder) {
  const auto index = indexed(folder);
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) names.insert(file);
  if (names.empty()) names.insert(kSingle);
  WeightFiles found;
  found.path = folder;
  found.files = {names.begin(), names.end()};
  auto files = std::make_shared<std::vector<formats::SafetensorsFile>>();
  std::vector<std::pair<size_t, size_t>> slots;
  for (const std::string& name : found.files) {
    const formats::SafetensorsFile& file = files->emplace_back(join_path(folder, name));
    for (size_t i = 0; i < file.tensors().size(); ++i) {
      const formats::SafeTensor& tensor = file.tensors()[i];
      found.weights.push_back({tensor.name, tensor.type, tensor.dtype(), tensor.shape, name});
      slots.emplace_back(files->size() - 1, i);
    }
  }
  compare_with_index(found, index);
  found.read = [files, slots](size_t i, int64_t first, std::span<std::byte> out) {
    const formats::SafetensorsFile& file = (*files)[slots[i].first];
    file.read(file.tensors()[slots[i].second], first, out);
  };
  return found;
}

}  // namespace skein::convert
