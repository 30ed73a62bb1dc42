// The small models of tests/convert/golden (tools/make_huggingface_golden.py) and what transformers
// computed with them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "skein/comm/local.h"
#include "skein/convert/export.h"
#include "skein/convert/import.h"
#include "skein/convert/notes.h"
#include "skein/core/log.h"
#include "skein/data/samples/batch.h"

#include "data/data_fixtures.h"

namespace skein::test {

inline std::string golden(const std::string& name) { return "convert/golden/" + name; }

inline Tensor read_tensor(const formats::SafetensorsFile& file, const std::string& name) {
  for (const formats::SafeTensor& tensor : file.tensors()) {
    if (tensor.name != name) continue;
    const Tensor made = Tensor::empty(Shape(tensor.shape), *tensor.dtype());
    file.read(tensor, 0, {made.bytes_data(), static_cast<size_t>(made.bytes())});
    return made;
  }
  return {};
}

inline Tensor narrow_ids(const Tensor& wide) {
  const Tensor made = Tensor::empty(wide.shape(), DType::i32);
  for (int64_t i = 0; i < wide.size(); ++i)
    made.data<int32_t>()[i] = static_cast<int32_t>(wide.data<int64_t>()[i]);
  return made;
}

// Every file of a folder, by name.
inline std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files[entry.path().filename().string()] = bytes_of_file(entry.path().string());
  return files;
}

// A copy of a golden folder to do harm to.
inline std::string copy_of(const Scratch& scratch, const std::string& name) {
  const std::string folder = scratch.file("copy-" + name);
  std::filesystem::copy(golden(name), folder);
  return folder;
}

inline std::string import_folder(const std::string& source, const std::string& destination,
                                 const convert::ConvertConfig& config = {}) {
  log::set_level(log::Level::error);
  return convert::Import(source, convert::form_of(source), config).run(destination, {});
}

inline void export_folder(const std::string& source, const std::string& destination,
                          const convert::ConvertConfig& config = {},
                          convert::Form form = convert::Form::huggingface) {
  log::set_level(log::Level::error);
  convert::Export(source, form, config).run(destination, {});
}

inline train::RunState state_of(const std::string& checkpoint) {
  const auto alone = single_rank();
  return train::run_state(checkpoint::find_checkpoint(checkpoint, *alone)->metadata, checkpoint);
}

// The model_type of what a checkpoint was imported from.
inline std::string model_type_of(const std::string& checkpoint) {
  return convert::model_type(convert::import_notes(state_of(checkpoint), checkpoint).config);
}

inline ModelConfig model_of(const std::string& checkpoint) {
  return stored_model(state_of(checkpoint), checkpoint);
}

// All tensors of a checkpoint as bytes, with their types.
inline std::map<std::string, std::string> tensors_of(const std::string& path) {
  const auto alone = single_rank();
  checkpoint::CheckpointTensors tensors(*checkpoint::find_checkpoint(path, *alone));
  std::map<std::string, std::string> all;
  for (const auto& [name, tensor] : tensors.tensors()) {
    std::string bytes(
        static_cast<size_t>(checkpoint::element_count(tensor.shape) * size_of(tensor.dtype)), '\0');
    tensors.read(name, 0, checkpoint::element_count(tensor.shape), tensor.dtype,
                 reinterpret_cast<std::byte*>(bytes.data()));
    all[name] = std::string(name_of(tensor.dtype)) + checkpoint::shape_text(tensor.shape) + bytes;
  }
  return all;
}

// Those that map a source to a target.
inline std::vector<std::string> golden_mappers() {
  return {"t5", "t5_v1_1", "mt5", "bart", "bart_untied", "mbart", "marian", "marian_two"};
}

inline std::vector<std::string> golden_names() {
  std::vector<std::string> all{"gpt2",
                               "gpt2_sequence",
                               "gpt2_untied",
                               "llama",
                               "llama_biased",
                               "llama_sequence",
                               "mistral",
                               "mistral_full",
                               "qwen2",
                               "qwen2_windows",
                               "qwen2_sequence",
                               "qwen2_dynamic",
                               "qwen3",
                               "qwen3_biased",
                               "opt",
                               "opt_untied",
                               "opt_sequence",
                               "gpt_neox",
                               "gpt_neox_tied",
                               "gpt_neox_sequence",
                               "phi3",
                               "phi3_long",
                               "phi3_sequence",
                               "gemma3",
                               "gemma3_biased",
                               "gemma3_sequence",
                               "bert",
                               "bert_masked",
                               "bert_untied",
                               "bert_sequence",
                               "bert_token",
                               "roberta",
                               "roberta_sequence",
                               "roberta_token",
                               "roberta_untied",
                               "xlm_roberta",
                               "xlm_roberta_untied",
                               "xlm_roberta_sequence",
                               "camembert",
                               "camembert_token",
                               "longformer",
                               "longformer_sequence",
                               "big_bird",
                               "big_bird_short",
                               "big_bird_padded",
                               "big_bird_sequence",
                               "vit",
                               "swin",
                               "vit_mae"};
  const auto mappers = golden_mappers();
  all.insert(all.end(), mappers.begin(), mappers.end());
  return all;
}

}  // namespace skein::test
