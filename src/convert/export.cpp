#include "skein/convert/export.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "skein/comm/local.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/text/tokenizer.h"
#include "skein/train/chats/chat_data.h"
#include "skein/train/run_weights.h"
#include "skein/train/tasks/pair_notes.h"

#include "elements.h"
#include "gguf.h"

namespace skein::convert {
namespace {

// tanh(x) is x but for x^3 / 3: an element of 10, times this, is off by 2e-6 of itself. A power of
// two costs no bit.
constexpr double kSmall = 1.0 / 4096;

std::string kept_name(const std::string& ours) { return "param/" + ours; }

checkpoint::CheckpointInfo weights_in(const std::string& path) {
  const auto alone = single_rank();
  const auto info = train::find_weights(path, *alone);
  require(info.has_value(), "{}", checkpoint::no_checkpoint(path));
  return *info;
}

TensorShapes shapes_of(const std::map<std::string, checkpoint::StoredTensor>& stored) {
  TensorShapes shapes;
  for (const auto& [name, tensor] : stored) shapes[name] = tensor.shape;
  return shapes;
}

void check_tensors(const NameMap& names,
                   const std::map<std::string, checkpoint::StoredTensor>& stored,
                   const std::string& path) {
  std::string text;
  for (const ForeignTensor& tensor : names.tensors)
    for (const OurTensor& part : tensor.parts) {
      const auto found = stored.find(kept_name(part.name));
      if (found == stored.end())
        text += fmt::format("\n  {} is missing", part.name);
      else if (found->second.shape != part.shape)
        text += fmt::format("\n  {} is {} there; the model's has {}", part.name,
                            checkpoint::shape_text(found->second.shape),
                            checkpoint::shape_text(part.shape));
    }
  require(text.empty(), "{} does not hold the model that its configuration describes:{}", path,
          text);
}

SpecialIds ids_of(const text::StoredTokenizer& tokenizer) {
  if (tokenizer.empty()) return {};
  try {
    const text::TokenRoles roles = tokenizer->roles();
    return {roles.pad, roles.bos, roles.eos};
  } catch (const Error& error) {
    log::warn("the config.json gets no special ids: {}", error.what());
    return {};
  }
}

// What the decoder of a model that maps sources is fed first; -1 for others, and where the
// tokenizer has no such token.
int32_t start_of(const ModelConfig& model, const train::RunState& state, const std::string& path) {
  if (!model.architecture->maps_source(model) || state.tokenizer.empty()) return -1;
  const std::string start = pair_notes(state.notes, path).start;
  if (!start.empty()) return state.tokenizer->id_of(start);
  const text::TokenRoles roles = state.tokenizer->roles();
  return roles.pad >= 0 ? roles.pad : roles.eos;
}

// The values that a head of numbers gives here have mean 0 and deviation 1; other programs have no
// room for the true ones but the classifier's weights.
void check_head(const train::LabelHead& head, const ModelConfig& model, const std::string& path) {
  require(model.labels == head.outputs(), "{} has a head of {} numbers, and notes on one of {}",
          path, model.labels, head.outputs());
  require(model.architecture->sees_ahead() || head.mean == 0,
          "{} predicts (value - mean) / deviation, with mean {} and deviation {}; a decoder's "
          "classifier has no bias that could add the mean. Fine-tune an encoder, or fine-tune on "
          "values from which {} has been taken, so that their mean is 0",
          path, head.mean, head.deviation, head.mean);
}

}  // namespace

Export::Export(const std::string& source, Form form, const ConvertConfig& config)
    : config_(config),
      form_(form),
      info_(weights_in(source)),
      state_(train::run_state(info_.metadata, info_.path)),
      model_(stored_model(state_, info_.path)),
      notes_(import_notes(state_, info_.path)),
      head_(label_head(state_.notes, info_.path)),
      chat_(train::chat_template_in(state_.notes)),
      tensors_(std::make_unique<checkpoint::CheckpointTensors>(info_)),
      stored_(tensors_->tensors()) {
  train::check_held(model_, shapes_of(stored_),
                    info_.path);  // before anything is made of the sizes that the model says
  choose_names();
  choose_dtypes();
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < names_.tensors.size(); ++i) total_ += bytes.emplace_back(bytes_of(i));
  files_ = export_files(names_, notes_.weights, bytes, config.shard_bytes);
}

void Export::choose_names() {
  fold_mup();
  add_pooler();
  names_ = form_ == Form::llmc   ? llmc_names(model_, llmc_rows(model_.vocab_size))
           : form_ == Form::gguf ? gguf_names(model_, model_type(notes_.config))
                                 : huggingface_names(model_, model_type(notes_.config));
  add_copies();
  check_tensors(names_, stored_, info_.path);
  if (head_) check_head(*head_, model_, info_.path);
  if (stored_.contains(kept_name("value.weight")))
    log::warn(
        "{} has a head of values beside its vocabulary, which other programs' models lack: it is "
        "left out",
        info_.path);
}

// Where the parts of one differ, it takes f32, which holds the values of all.
void Export::choose_dtypes() {
  for (const ForeignTensor& tensor : names_.tensors) {
    std::set<DType> found;
    for (const OurTensor& part : tensor.parts) found.insert(stored_.at(kept_name(part.name)).dtype);
    dtypes_.push_back(config_.dtype       ? *config_.dtype
                      : found.size() == 1 ? *found.begin()
                                          : DType::f32);
  }
  if (form_ == Form::gguf) return choose_gguf_types();
  if (form_ != Form::llmc) return;
  // Its files have one type.
  const bool alike =
      std::adjacent_find(dtypes_.begin(), dtypes_.end(), std::not_equal_to<>()) == dtypes_.end();
  if (!alike) std::fill(dtypes_.begin(), dtypes_.end(), DType::f32);
}

int64_t Export::bytes_of(size_t tensor) const {
  return names_.tensors[tensor].size() * size_of(dtypes_[tensor]);
}

// The type of most bytes.
DType Export::dtype() const {
  std::map<DType, int64_t> held;
  for (size_t i = 0; i < dtypes_.size(); ++i) held[dtypes_[i]] += bytes_of(i);
  return std::max_element(held.begin(), held.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::string Export::text() const {
  std::string lines;
  for (size_t i = 0; i < names_.tensors.size(); ++i)
    lines += names_.tensors[i].line(files_.names[i], form_ == Form::gguf
                                                         ? formats::gguf_type_name(gguf_types_[i])
                                                         : formats::safetensors_type(dtypes_[i]));
  return lines;
}

void Export::fold_mup() {
  if (model_.mup_base_width == 0) return;
  require(model_.norm_placement != NormPlacement::post,
          "{} was trained with model.mup_base_width={} and has no last norm "
          "(model.norm_placement=post) that could take up the factor {} of its logits; other "
          "programs know no muP",
          info_.path, model_.mup_base_width, 1 / model_.width_ratio());
  output_factor_ = 1 / model_.width_ratio();
  query_factor_ = model_.attention_scale() * std::sqrt(model_.head_width());
  model_.mup_base_width = model_.mup_base_head = 0;
  log::info(
      "muP: the last norm takes the factor {:.6g} of the logits, queries the factor {:.6g} of the "
      "scores",
      output_factor_, query_factor_);
}

void Export::add_pooler() {
  const bool reads_first = model_.architecture->sees_ahead() && model_.head == Head::token;
  if (!reads_first || state_.notes.text_of("task") != "reward") return;
  model_.architecture->begin_labels(model_, Head::sequence, model_.labels);
  pooler_added_ = true;
  const DType dtype = stored_.at(kept_name("classifier.weight")).dtype;
  stored_[kept_name("pooler.weight")] = {dtype, {model_.d_model, model_.d_model}, {}};
  stored_[kept_name("pooler.bias")] = {dtype, {model_.d_model}, {}};
}

void Export::add_copies() {
  const auto add = [&](const SecondUse& copy) {
    for (size_t i = 0, count = names_.tensors.size(); i < count; ++i) {
      if (names_.tensors[i].name != copy.of) continue;
      std::erase(names_.tensors[i].other_names, copy.name);
      names_.tensors.push_back(names_.tensors[i]);
      names_.tensors.back().name = copy.name;
      names_.tensors.back().other_names.clear();
    }
  };
  std::set<std::string> imported, written;
  for (const auto& [file, names] : notes_.weights) imported.insert(names.begin(), names.end());
  const auto had = [&](const std::string& name) {
    return std::ranges::any_of(names_.candidates(name),
                               [&](const std::string& one) { return imported.contains(one); });
  };
  for (const SecondUse& copy : names_.copies) {
    add(copy);
    written.insert(copy.name);
  }
  for (const SecondUse& use : names_.second_uses)
    if (!written.contains(use.name) && had(use.name) && had(use.of)) add(use);
}

std::pair<double, double> Export::change_of(const std::string& tensor) const {
  // Of gains that are 1 + what is kept.
  const auto gains = [&](double factor) -> std::pair<double, double> {
    return {factor, kernels::gain_center(model_.norm) * (factor - 1)};
  };
  if (tensor.starts_with("final_norm.")) return gains(output_factor_);
  const auto queries = model_.qk_norm ? std::array{".attention.q_norm.", ".cross.q_norm."}
                                      : std::array{".attention.q.", ".cross.q."};
  for (const char* one : queries)
    if (tensor.find(one) != std::string::npos)
      return model_.qk_norm ? gains(query_factor_) : std::pair{query_factor_, 0.0};
  const bool bias = tensor == "classifier.bias";
  if (pooler_added_ && tensor == "classifier.weight") return {1 / kSmall, 0};
  if (head_ && head_->kind == train::LabelKind::regress && (bias || tensor == "classifier.weight"))
    return {head_->deviation, bias ? head_->mean : 0};
  return {1, 0};
}

// As the layer that it is, [C,C], or its bias, [C].
void Export::read_pooler(const OurTensor& tensor, int64_t begin, int64_t end, DType dtype,
                         std::byte* out) const {
  std::vector<float> values(end - begin);
  const bool bias = tensor.shape.size() == 1;
  for (int64_t i = begin; !bias && i < end; ++i)
    if (i % (model_.d_model + 1) == 0) values[i - begin] = static_cast<float>(kSmall);
  convert_elements(DType::f32, reinterpret_cast<const std::byte*>(values.data()), dtype, out,
                   end - begin);
}

void Export::read(const OurTensor& tensor, int64_t begin, int64_t end, DType dtype,
                  std::byte* out) {
  if (pooler_added_ && tensor.name.starts_with("pooler."))
    return read_pooler(tensor, begin, end, dtype, out);
  const auto [factor, more] = change_of(tensor.name);
  if (factor == 1 && more == 0)
    return tensors_->read(kept_name(tensor.name), begin, end, dtype, out);
  std::vector<float> values(end - begin);
  tensors_->read(kept_name(tensor.name), begin, end, DType::f32,
                 reinterpret_cast<std::byte*>(values.data()));
  for (float& value : values) value = static_cast<float>(value * factor + more);
  convert_elements(DType::f32, reinterpret_cast<const std::byte*>(values.data()), dtype, out,
                   end - begin);
}

ConfigExtras Export::extras() const {
  ConfigExtras made{ids_of(state_.tokenizer), {}, "", !notes_.config.empty() && !files_.whole};
  made.dtypes = {dtypes_.begin(), dtypes_.end()};
  if (trained_here()) made.ids.start = start_of(model_, state_, info_.path);
  if (has_chat()) made.ids.turn_end = text::ChatTemplate(chat_, *state_.tokenizer).end();
  if (!head_) return made;
  made.labels = head_->labels;
  // What an import says of its training stays.
  if (!trained_here()) return made;
  if (head_->kind != train::LabelKind::tag)
    made.problem =
        head_->kind == train::LabelKind::regress ? "regression" : "single_label_classification";
  return made;
}

}  // namespace skein::convert
