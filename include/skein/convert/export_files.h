// Which file of an exported model holds which tensor, and under which name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "skein/convert/names.h"

namespace skein::convert {

struct ExportFile {
  std::string name;
  std::vector<size_t> tensors;  // numbers of NameMap::tensors
};

struct ExportFiles {
  bool whole = true;               // the import had every tensor
  std::vector<std::string> names;  // of the tensors of NameMap, one each
  std::vector<ExportFile> files;
};

// Names and files are those of the import (`imported`: the names of the tensors in each file) when
// it had every tensor. Files are model.safetensors, or several of at most `most_bytes`, when it had
// not, when one would be above 5 GB, and when most_bytes is above 0. bytes: of each tensor.
ExportFiles export_files(const NameMap& names,
                         const std::map<std::string, std::vector<std::string>>& imported,
                         const std::vector<int64_t>& bytes, int64_t most_bytes);

}  // namespace skein::convert
