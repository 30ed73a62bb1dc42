#include "skein/convert/export_files.h"

#include <algorithm>
#include <fmt/format.h>

namespace skein::convert {
namespace {

constexpr int64_t kMostFileBytes = 5'000'000'000;

std::map<std::string, std::string> files_by_name(
    const std::map<std::string, std::vector<std::string>>& imported) {
  std::map<std::string, std::string> made;
  for (const auto& [file, names] : imported)
    for (const std::string& name : names) made[name] = file;
  return made;
}

// Empty when the import had no such tensor.
std::string imported_name(const NameMap& names, const ForeignTensor& tensor,
                          const std::map<std::string, std::string>& file_of) {
  std::vector<std::string> known = names.candidates(tensor.name);
  known.insert(known.end(), tensor.other_names.begin(), tensor.other_names.end());
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const std::string& name) { return file_of.contains(name); });
  return found == known.end() ? "" : *found;
}

std::vector<ExportFile> files_by_size(const std::vector<int64_t>& bytes, int64_t most) {
  std::vector<ExportFile> files(1);
  int64_t held = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (held > 0 && held + bytes[i] > most) {
      files.emplace_back();
      held = 0;
    }
    held += bytes[i];
    files.back().tensors.push_back(i);
  }
  for (size_t i = 0; i < files.size(); ++i)
    files[i].name = files.size() == 1
                        ? "model.safetensors"
                        : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files.size());
  return files;
}

bool fits(const ExportFile& file, const std::vector<int64_t>& bytes) {
  int64_t sum = 0;
  for (const size_t i : file.tensors) sum += bytes[i];
  return sum <= kMostFileBytes;
}

}  // namespace

ExportFiles export_files(const NameMap& names,
                         const std::map<std::string, std::vector<std::string>>& imported,
                         const std::vector<int64_t>& bytes, int64_t most_bytes) {
  const auto file_of = files_by_name(imported);
  ExportFiles made;
  std::map<std::string, ExportFile> files;
  for (size_t i = 0; i < names.tensors.size() && made.whole; ++i) {
    const std::string name = imported_name(names, names.tensors[i], file_of);
    made.whole = !name.empty();
    if (!made.whole) break;
    made.names.push_back(name);
    files[file_of.at(name)].tensors.push_back(i);
  }
  for (auto& [name, file] : files) file.name = name;
  if (!made.whole) {
    made.names.clear();
    for (const ForeignTensor& tensor : names.tensors) made.names.push_back(tensor.name);
  }
  const bool stay = made.whole && most_bytes == 0 &&
                    std::all_of(files.begin(), files.end(),
                                [&](const auto& file) { return fits(file.second, bytes); });
  if (!stay)
    made.files = files_by_size(bytes, most_bytes > 0 ? most_bytes : kMostFileBytes);
  else
    for (auto& [name, file] : files) made.files.push_back(std::move(file));
  return made;
}

}  // namespace skein::convert
