#include <algorithm>
#include <filesystem>

#include "skein/convert/export.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/files/output_target.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/text/template_export.h"

#include "gguf.h"

namespace skein::convert {
namespace {

namespace fs = std::filesystem;
using formats::GgufType;

// llama.cpp's numbers of what most of a file is.
uint32_t file_type(GgufType type) {
  switch (type) {
    case GgufType::f32: return 0;
    case GgufType::f16: return 1;
    case GgufType::q8_0: return 7;
    case GgufType::bf16: return 32;
  }
  return 0;
}

// Biases, norms and positions are added to or multiplied with in f32.
bool is_product(const ForeignTensor& tensor) {
  return tensor.shape.size() > 1 && tensor.name != "position_embd.weight";
}

}  // namespace

std::string modelfile_path(const std::string& gguf) {
  return fs::path(gguf).replace_extension(".Modelfile").string();
}

void Export::choose_gguf_types() {
  for (size_t i = 0; i < names_.tensors.size(); ++i) {
    const ForeignTensor& tensor = names_.tensors[i];
    GgufType type = formats::gguf_type(dtypes_[i]);
    if (!is_product(tensor)) type = GgufType::f32;
    // As llama.cpp does where rows have no whole blocks.
    else if (config_.q8_0)
      type = tensor.shape.back() % formats::kGgufBlock == 0 ? GgufType::q8_0 : GgufType::f16;
    gguf_types_.push_back(type);
    dtypes_[i] = type == GgufType::f16    ? DType::f16
                 : type == GgufType::bf16 ? DType::bf16
                                          : DType::f32;
  }
}

formats::GgufValues Export::gguf_values(const std::string& path) const {
  formats::GgufValues values = gguf_model(model_, model_type(notes_.config));
  values.emplace_back("general.name", fs::path(path).stem().string());
  std::map<GgufType, int64_t> held;
  for (size_t i = 0; i < gguf_types_.size(); ++i) held[gguf_types_[i]] += bytes_of(i);
  const auto most = std::ranges::max_element(held, {}, [](const auto& one) { return one.second; });
  values.emplace_back("general.file_type", file_type(most->first));
  if (config_.q8_0) values.emplace_back("general.quantization_version", uint32_t{2});
  const std::string chat = has_chat() ? jinja() : imported_template(state_);
  // Runs here learn from texts as they are.
  formats::GgufValues words = gguf_tokenizer(state_.tokenizer, model_.vocab_size, !trained_here());
  values.insert(values.end(), words.begin(), words.end());
  if (!chat.empty()) values.emplace_back("tokenizer.chat_template", chat);
  if (const int32_t end = extras().ids.turn_end; end >= 0)
    values.emplace_back("tokenizer.ggml.eot_token_id", static_cast<uint32_t>(end));
  return values;
}

void Export::write_gguf(const std::string& path) {
  const std::string beside = modelfile_path(path);
  std::error_code ignored;
  require(beside != path, "{} is what a Modelfile is called; name the file {}.gguf", path,
          fs::path(path).stem().string());
  require(!fs::exists(beside, ignored),
          "{} exists already, where {} gets its Modelfile; name another file", beside, path);
  if (const int64_t context = gguf_context(model_); context < model_.context)
    log::warn(
        "{} is for texts of up to {} tokens, not {}: longer ones need attention.kind=window, which "
        "llama.cpp does not compute in such a model",
        path, context, model_.context);
  std::vector<formats::GgufTensor> tensors;
  for (size_t i = 0; i < names_.tensors.size(); ++i)
    tensors.push_back({names_.tensors[i].name, gguf_types_[i], names_.tensors[i].shape});
  formats::GgufWriter writer(path, gguf_values(path), tensors);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_gguf_frequencies(tensors[i].name)) {
      const std::vector<float> factors = gguf_frequencies(model_);
      writer.append(std::as_bytes(std::span(factors)));
      continue;
    }
    std::vector<std::byte> blocks;
    stream(i, [&](std::span<const std::byte> bytes) {
      if (gguf_types_[i] != GgufType::q8_0) return writer.append(bytes);
      const std::span values(reinterpret_cast<const float*>(bytes.data()), bytes.size() / 4);
      blocks.resize(values.size() / formats::kGgufBlock * formats::kGgufBlockBytes);
      formats::write_q8_0(values, blocks.data());
      writer.append(blocks);
    });
  }
  writer.finish();
  write_modelfile(path);
}

void Export::write_modelfile(const std::string& path) const {
  ModelfileParts parts{fs::path(path).filename().string(), "{{ .Prompt }}", "", false,
                       gguf_context(model_)};
  if (has_chat()) {
    const text::ChatTemplate form(chat_, *state_.tokenizer);
    parts.templated = text::go_template(chat_, *state_.tokenizer);
    parts.stop = state_.tokenizer->decode({form.end()}, false);
    parts.trims = form.trims();
  } else if (!imported_template(state_).empty()) {
    parts.templated = "";
  }
  write_new_file(modelfile_path(path), modelfile(parts));
}

std::string modelfile(const ModelfileParts& parts) {
  std::string made = fmt::format("FROM ./{}\n", parts.gguf);
  if (parts.trims)
    made +=
        "# White space around the text of a turn is not left out here, as in training it was.\n";
  if (!parts.templated.empty()) made += fmt::format("TEMPLATE \"\"\"{}\"\"\"\n", parts.templated);
  made += fmt::format("PARAMETER num_ctx {}\n", parts.context);
  const char* quotes = parts.stop.find('"') == std::string::npos ? "\"" : "\"\"\"";
  if (!parts.stop.empty()) made += fmt::format("PARAMETER stop {0}{1}{0}\n", quotes, parts.stop);
  return made;
}

}  // namespace skein::convert
