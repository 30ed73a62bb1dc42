// Other programs' files of weights, read and written tensor by tensor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skein/convert/names.h"
#include "skein/formats/safetensors.h"

namespace skein::convert {

struct StoredWeight {
  std::string name;
  std::string type;  // "F32", or what the file says
  std::optional<DType> dtype;
  std::vector<int64_t> shape;
  std::string file;  // its name, without the folder
};

// The tensors of a folder or file.
struct WeightFiles {
  std::string path;
  std::vector<StoredWeight> weights;  // of each file in the order of its bytes
  std::vector<std::string> files;     // their names
  // Fills `out` with the bytes of weights[i] from `first` on.
  std::function<void(size_t i, int64_t first, std::span<std::byte> out)> read;
};

// model.safetensors of a folder, or the files that its model.safetensors.index.json lists. A usage
// error when a tensor that the index lists is not in its file, or one that it does not list is;
// when there are only pickled weights.
WeightFiles open_safetensors(const std::string& folder);

// llm.c's model files, of GPT-2: 256 i32, then the tensors of llmc_names.
struct LlmcModel {
  ModelConfig config;
  int64_t padded_vocab = 0;
  DType dtype = DType::f32;
};
bool is_llmc_file(const std::string& path);
LlmcModel read_llmc_header(const std::string& path);
WeightFiles open_llmc(const std::string& path);
std::string llmc_header(const LlmcModel& model);
// Rows of tokens that llm.c gives a vocabulary.
int64_t llmc_rows(int64_t vocab_size);
// Names in the order of their bytes, grouped by kind over all blocks. `padded_vocab` rows of
// tokens. A usage error where the model is none that llm.c has.
NameMap llmc_names(const ModelConfig& config, int64_t padded_vocab);

}  // namespace skein::convert
