// Folders of other programs' models, changed as no program would write them.
#pragma once

#include <functional>
#include <gtest/gtest.h>

#include "skein/core/json.h"

#include "convert/golden_folder.h"

namespace skein::test {

using Json = nlohmann::json;

struct TensorBytes {
  std::string type;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};
using TensorsByName = std::map<std::string, TensorBytes>;

// Changes the single safetensors file of a folder.
inline void edit_tensors(const std::string& folder,
                         const std::function<void(TensorsByName&)>& edit) {
  const std::string path = folder + "/model.safetensors";
  TensorsByName all;
  {
    const formats::SafetensorsFile file(path);
    for (const formats::SafeTensor& tensor : file.tensors()) {
      std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes()));
      file.read(tensor, 0, bytes);
      all[tensor.name] = {tensor.type, tensor.shape, bytes};
    }
  }
  edit(all);
  std::vector<formats::SafeTensor> tensors;
  for (const auto& [name, held] : all) tensors.push_back({name, held.type, held.shape, 0, 0});
  formats::SafetensorsWriter writer(path, tensors, {{"format", "pt"}});
  for (const formats::SafeTensor& tensor : writer.tensors())
    writer.append(all.at(tensor.name).bytes);
  writer.finish();
}

// Its names as `rename` says ("" leaves one out), and `extra` tensors of two floats.
inline void rewrite(const std::string& folder,
                    const std::function<std::string(const std::string&)>& rename,
                    const std::vector<std::string>& extra = {}) {
  edit_tensors(folder, [&](TensorsByName& all) {
    TensorsByName made;
    for (const auto& [name, held] : all)
      if (const std::string now = rename(name); !now.empty()) made[now] = held;
    for (const std::string& name : extra) made[name] = {"F32", {2}, std::vector<std::byte>(8)};
    all = made;
  });
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

inline void edit_config(const std::string& folder, const std::function<void(Json&)>& edit) {
  Json json = Json::parse(bytes_of_file(folder + "/config.json"));
  edit(json);
  write_file(folder + "/config.json", json.dump());
}

inline void refused(const std::string& folder, std::initializer_list<std::string> words,
                    const convert::ConvertConfig& config = {}) {
  const Scratch scratch;
  expect_error(ExitCode::usage, words, [&] { import_folder(folder, scratch.file("run"), config); });
  EXPECT_FALSE(std::filesystem::exists(scratch.file("run")));
}

}  // namespace skein::test
