// config.json of Hugging Face's transformers, and what it says of a model in our words.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "skein/convert/names.h"
#include "skein/train/task_notes.h"
#include "skein/train/tasks/label_head.h"

namespace skein::convert {

// Objects and lists within each other.
inline constexpr int kMostConfigDepth = 32;

// The tensors of the files beside a config.json, which does not say all of its model: whether a
// BERT has its pooler and the head for pairs, whether a T5 has a head of its own.
struct HeldTensors {
  std::set<std::string> names = {};
  // Whether two of them hold the same numbers; empty: no two do.
  std::function<bool(const std::string&, const std::string&)> same = {};
};

// The model of a config.json beside these tensors. A usage error naming `origin` when the text is
// no such JSON, lacks a size, or asks for what no model here does.
ModelConfig model_from_huggingface(const std::string& text, const std::string& origin,
                                   const HeldTensors& held);

// What a config.json says of its model's labels, as the notes of a head of labels of ours; none
// where the model is no classifier, or names no label for each of its numbers, or was trained to
// say several of them at once. Decoders' samples are framed by their tokenizer. Of a model of
// pictures `preprocessor`, the text of preprocessor_config.json, says the units of pixels; none,
// with a warning, where that is "". Its classes have names whatever the config.json says.
train::TaskNotes label_notes(const std::string& text, const std::string& origin,
                             const ModelConfig& model, const std::string& preprocessor = "");
// preprocessor_config.json of such a model. With `before`: that text where it still says the same.
// config: of the model that `before` is of, its config.json; where the model has become one of
// pictures of another size, that is said. "": none.
std::string preprocessor_config(const ModelConfig& model, const train::LabelHead& head,
                                const std::string& before, const std::string& config = "");

// Ids that config.json repeats from the tokenizer; -1: none.
struct SpecialIds {
  int32_t pad = -1, bos = -1, eos = -1;
  // what the decoder of a model that maps sources is fed first; -1 also where the import says it
  int32_t start = -1;
  int32_t turn_end = -1;  // what ends an answer in a conversation; -1: the model knows none
};

// bos_token_id of a model: models that are fed no sources begin with the token that ends texts
// where they have no other.
int32_t begin_id(const ModelConfig& model, const SpecialIds& ids);

// What config.json says beside the model.
struct ConfigExtras {
  SpecialIds ids;
  // of a classifier's numbers; none: those that it had, or LABEL_0 and so on
  std::vector<std::string> labels;
  std::string problem;              // "regression": how it was trained here; "": it was not
  bool other_architecture = false;  // the model has tensors that the import lacked
  std::set<DType> dtypes = {};      // of its tensors; that of most of them is told apart
};

// config.json of a model. With `before`, the text that it was once imported with: that text where
// it still says the same, and else that text with what changed, so that keys unknown here stay.
// `dtype` of most of its tensors; one that `before` says stays where some tensors have it. A usage
// error as huggingface_names. A decoder's classifier gets no padding id that also ends texts, with
// a warning: transformers reads the last token that is no padding.
std::string huggingface_config(const ModelConfig& model, DType dtype, const ConfigExtras& extras,
                               const std::string& before);

// The model_type of a config.json; "" where it says none.
std::string model_type(const std::string& config);

// Options of a model as text, by key: equal models have equal ones.
std::map<std::string, std::string> model_values(const ModelConfig& model);

}  // namespace skein::convert
