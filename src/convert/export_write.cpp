#include <algorithm>
#include <cstring>
#include <filesystem>
#include <unistd.h>

#include "skein/convert/export.h"
#include "skein/convert/generation_config.h"
#include "skein/convert/huggingface_config.h"
#include "skein/convert/tokenizer_files.h"
#include "skein/core/error.h"
#include "skein/core/files/new_file.h"
#include "skein/core/files/output_target.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/text/template_export.h"
#include "skein/train/chats/chat_data.h"

namespace skein::convert {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRunBytes = int64_t{1} << 24;

}  // namespace

void Export::transposed(const ForeignTensor& tensor, DType dtype, std::byte* out) {
  const int64_t inputs = tensor.shape[0], columns = tensor.shape[1], size = size_of(dtype);
  int64_t column = 0;
  for (const OurTensor& part : tensor.parts) {
    Bytes whole(part.size() * size);
    read(part, 0, part.size(), dtype, whole.data());
    for (int64_t row = 0; row < part.shape[0]; ++row, ++column)
      for (int64_t i = 0; i < inputs; ++i)
        std::memcpy(out + (i * columns + column) * size, whole.data() + (row * inputs + i) * size,
                    size);
  }
}

// The rows of each head, [D, inputs], as 0, D/2, 1, D/2 + 1, ...
void Export::stream_part(const ForeignTensor& tensor, const OurTensor& part, DType dtype,
                         const Append& append) {
  const int64_t size = size_of(dtype), woven = tensor.woven_heads;
  const int64_t most = woven > 0 ? part.size() / woven : kRunBytes / size;
  for (int64_t begin = 0; begin < part.size(); begin += most) {
    const int64_t end = std::min(part.size(), begin + most);
    const Bytes run((end - begin) * size);
    read(part, begin, end, dtype, run.data());
    if (tensor.added != 0) {
      SKEIN_CHECK(dtype == DType::f32);
      for (int64_t i = 0; i < end - begin; ++i)
        reinterpret_cast<float*>(run.data())[i] += tensor.added;
    }
    if (woven == 0) {
      append(run.span());
      continue;
    }
    const int64_t rows = part.shape[0] / woven, bytes = most / rows * size;
    const Bytes made(most * size);
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(made.data() + row * bytes, run.data() + (row / 2 + row % 2 * (rows / 2)) * bytes,
                  bytes);
    append(made.span());
  }
}

void Export::stream_dealt(const ForeignTensor& tensor, DType dtype, const Append& append) {
  for (int64_t head = 0; head < tensor.dealt_heads; ++head)
    for (const OurTensor& part : tensor.parts) {
      const int64_t rows = part.size() / tensor.dealt_heads;
      const Bytes run(rows * size_of(dtype));
      read(part, head * rows, (head + 1) * rows, dtype, run.data());
      append(run.span());
    }
}

void Export::stream(size_t i, const Append& write) {
  const ForeignTensor& tensor = names_.tensors[i];
  const DType dtype = dtypes_[i];
  const int64_t size = size_of(dtype);
  const auto append = [&](std::span<const std::byte> bytes) {
    odd_.look_at(files_.names[i], dtype, bytes.data(), std::ssize(bytes) / size);
    write(bytes);
  };
  if (tensor.dealt_heads > 0) {
    stream_dealt(tensor, dtype, append);
  } else if (tensor.transposed) {
    Bytes whole(tensor.size() * size);
    transposed(tensor, dtype, whole.data());
    append(whole.span());
  } else {
    int64_t held = 0;
    for (const OurTensor& part : tensor.parts) {
      stream_part(tensor, part, dtype, append);
      held += part.size();
    }
    append(Bytes((tensor.size() - held) * size).span());
  }
  done_ += bytes_of(i);
  if (progress_) progress_(done_, total_);
}

void Export::write_file(const std::string& folder, const ExportFile& file) {
  std::vector<formats::SafeTensor> tensors;
  std::map<std::string, size_t> indices;
  for (const size_t i : file.tensors) {
    tensors.push_back(
        {files_.names[i], formats::safetensors_type(dtypes_[i]), names_.tensors[i].shape, 0, 0});
    indices[files_.names[i]] = i;
  }
  formats::SafetensorsWriter writer(join_path(folder, file.name), tensors, {{"format", "pt"}});
  for (const formats::SafeTensor& tensor : writer.tensors())
    stream(indices.at(tensor.name),
           [&](std::span<const std::byte> bytes) { writer.append(bytes); });
  writer.finish();
}

std::string Export::jinja() const {
  if (train::instruction_notes(state_.notes).form == data::InstructionForm::alpaca)
    log::warn(
        "{} learnt instructions under Alpaca's headings, which its chat template does not write: "
        "a turn of the user has to bring them along",
        info_.path);
  return text::jinja_template(chat_, *state_.tokenizer);
}

void Export::warn_of_beginnings() const {
  if (!trained_here() || has_chat() || state_.tokenizer.empty() ||
      model_.architecture->sees_ahead() || model_.architecture->maps_source(model_))
    return;
  const text::TextFrame frame = text_frame(*state_.tokenizer);
  if (!frame.before.empty() || !frame.after.empty())
    log::warn(
        "the tokenizer of {} puts \"{}\" before a text and \"{}\" behind it, which training here "
        "did not: in transformers give it add_special_tokens=False",
        info_.path, state_.tokenizer->decode(frame.before, false),
        state_.tokenizer->decode(frame.after, false));
}

std::map<std::string, std::string> Export::texts(const ConfigExtras& said) const {
  warn_of_beginnings();
  auto made = notes_.texts;
  if (!holds_tokenizer(notes_))
    made.merge(tokenizer_files(state_.tokenizer, model_.token_types > 1));
  if (has_chat()) put_chat_template(jinja(), made);
  const bool writes_text =
      model_.architecture->continues_text(model_) || model_.architecture->maps_source(model_);
  if (writes_text && trained_here())
    made[kGenerationConfig] = generation_config(model_, said.ids, made[kGenerationConfig]);
  if (head_ && head_->reads_images()) {
    std::string& units = made["preprocessor_config.json"];
    units = preprocessor_config(model_, *head_, units, notes_.config);
  }
  return made;
}

void Export::write_folder(const std::string& folder) {
  for (const ExportFile& file : files_.files) write_file(folder, file);
  if (files_.files.size() > 1 || files_.files.front().name != "model.safetensors") {
    std::map<std::string, std::string> index;
    int64_t parameters = names_.other_parameters;
    for (const ExportFile& file : files_.files)
      for (const size_t i : file.tensors) {
        index[files_.names[i]] = file.name;
        parameters += names_.tensors[i].size();
      }
    write_new_file(join_path(folder, "model.safetensors.index.json"),
                   formats::safetensors_index(index, total_, parameters));
  }
  const ConfigExtras said = extras();
  write_new_file(join_path(folder, "config.json"),
                 huggingface_config(model_, dtype(), said, notes_.config));
  for (const auto& [name, text] : texts(said)) {
    const std::string path = join_path(folder, name);
    make_directories(fs::path(path).parent_path().string());
    write_new_file(path, text);
    sync_parent(path);
  }
}

void Export::write_llmc(const std::string& path) {
  NewFile file(path, ExistingFile::refuse);
  const std::string text = llmc_header({model_, llmc_rows(model_.vocab_size), dtype()});
  file.append(std::as_bytes(std::span(text)));
  for (size_t i = 0; i < names_.tensors.size(); ++i)
    stream(i, [&](std::span<const std::byte> bytes) { file.append(bytes); });
  file.finish();
}

void Export::run(const std::string& destination, const ConvertProgress& progress) {
  std::error_code ignored;
  require(!fs::exists(destination, ignored), "{} exists already; name a {} that does not",
          destination, form_ == Form::huggingface ? "folder" : "file");
  progress_ = progress;
  write_all(destination);
  warn_of(odd_, destination, config_);
}

void Export::write_all(const std::string& destination) {
  if (form_ == Form::llmc) return write_llmc(destination);
  if (form_ == Form::gguf) return write_gguf(destination);
  fs::path folder = fs::path(destination).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  const std::string temporary = fmt::format("{}.{}.tmp", folder.string(), ::getpid());
  make_directories(folder.has_parent_path() ? folder.parent_path().string() : ".");
  if (!make_new_directory(temporary))
    fail("{} exists already, where the model is to be made; remove it", temporary);
  try {
    write_folder(temporary);
    sync_directory(temporary);
    publish(temporary, folder.string(), ExistingFile::refuse);
    sync_parent(folder.string());
  } catch (...) {
    remove_tree(temporary);
    throw;
  }
}

}  // namespace skein::convert
