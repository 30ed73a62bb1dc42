#include "skein/convert/notes.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <xxhash.h>

#include "skein/convert/generation_config.h"
#include "skein/core/base64.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/formats/safetensors.h"
#include "skein/models/architecture.h"
#include "skein/text/tokenizer.h"
#include "skein/train/tasks/pair_notes.h"

#include "paths.h"

namespace skein::convert {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kKept[] = {"generation_config.json",
                                 "chat_template.jinja",
                                 "preprocessor_config.json",
                                 "tokenizer.json",
                                 "tokenizer_config.json",
                                 "vocab.json",
                                 "special_tokens_map.json",
                                 "added_tokens.json",
                                 "merges.txt",
                                 "vocab.txt",
                                 "tokenizer.model",
                                 "spiece.model",
                                 "sentencepiece.model",
                                 "source.spm",
                                 "sentencepiece.bpe.model",
                                 "target.spm",
                                 "target_vocab.json"};
constexpr size_t kNoTokenizer = 3;  // the first of a tokenizer's
// Any of them is a tokenizer.
constexpr const char* kTokenizers[] = {"tokenizer.json", "vocab.json", "vocab.txt"};
constexpr int64_t kMostTextBytes = int64_t{1} << 26;
constexpr std::string_view kOtherTemplates = "additional_chat_templates/";
constexpr const char* kTemplateEnding = ".jinja";

// Of SentencePiece, whose files are no text.
bool holds_pieces(const std::string& name) {
  return name.ends_with(".model") || name.ends_with(".spm");
}

std::string small_file(const std::string& path, bool is_text) {
  std::error_code error;
  require(fs::is_regular_file(path, error), "{} is not a file that can be read", path);
  const int64_t bytes = fs::file_size(path, error);
  require(!error && bytes <= kMostTextBytes, "{} has {}; {} is the most of such a file", path,
          readable_size(bytes), readable_size(kMostTextBytes));
  std::string text = read_text(path);
  try {
    if (is_text) (void)Json(text).dump();
  } catch (const Json::exception&) {
    fail_usage("{} is not UTF-8 text", path);
  }
  return text;
}

// Templates that a tokenizer has beside its first.
bool is_other_template(const std::string& name) {
  return name.starts_with(kOtherTemplates) && name.ends_with(kTemplateEnding) &&
         formats::is_plain_name(name.substr(kOtherTemplates.size()));
}

bool is_kept(const std::string& name) {
  return std::find(std::begin(kKept), std::end(kKept), name) != std::end(kKept) ||
         is_other_template(name);
}

std::vector<std::string> other_templates(const std::string& folder) {
  std::vector<std::string> names;
  const std::string path = join_path(folder, std::string(kOtherTemplates));
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored))
    if (std::string name = std::string(kOtherTemplates) + entry.path().filename().string();
        is_other_template(name))
      names.push_back(std::move(name));
  return names;
}

// An export writes files of these names, and a checkpoint may come from anywhere.
void check_names(const ImportNotes& notes, const std::string& origin) {
  for (const auto& [name, text] : notes.texts)
    require(is_kept(name), "{}: what it keeps of its import has a text '{}', which is none of {}",
            origin, name.substr(0, 80), fmt::join(kKept, ", "));
  for (const auto& [name, tensors] : notes.weights)
    require(formats::is_plain_name(name) && !is_kept(name) && !name.ends_with(".json"),
            "{}: what it keeps of its import has weights in '{}', which is no name for a file of "
            "weights",
            origin, std::string(name.c_str()).substr(0, 80));
}

// Of a model that maps sources.
train::PairNotes mapper_notes(const ModelConfig& model, const FolderTokenizer& tokenizer,
                              const ImportNotes& notes) {
  const auto generation = notes.texts.find(kGenerationConfig);
  const int32_t start = foreign_start(
      notes.config, generation == notes.texts.end() ? "" : generation->second, notes.source, model);
  train::PairNotes made{.source_tokenizer = tokenizer.source};
  if (!tokenizer.tokenizer.empty()) made.start = train::spelling(*tokenizer.tokenizer, start);
  return made;
}

train::TaskNotes task_notes(const ModelConfig& model, const FolderTokenizer& tokenizer,
                            const ImportNotes& notes) {
  if (model.architecture->maps_source(model))
    return to_notes(mapper_notes(model, tokenizer, notes));
  const auto units = notes.texts.find("preprocessor_config.json");
  return label_notes(notes.config, join_path(notes.source, "config.json"), model,
                     units == notes.texts.end() ? "" : units->second);
}

// As JSON can hold them.
std::map<std::string, std::string> storable(std::map<std::string, std::string> texts) {
  for (auto& [name, text] : texts)
    if (holds_pieces(name)) text = base64(text);
  return texts;
}

void take_bytes(std::map<std::string, std::string>& texts, const std::string& origin) {
  for (auto& [name, text] : texts) {
    if (!holds_pieces(name)) continue;
    const auto bytes = from_base64(text);
    require(bytes.has_value(), "{}: what it keeps of its import has a {} that is no base64", origin,
            name);
    text = *bytes;
  }
}

}  // namespace

std::string import_metadata(const ModelConfig& model, const FolderTokenizer& tokenizer,
                            const ImportNotes& notes) {
  train::RunState state;
  if (!notes.config.empty()) state.notes = task_notes(model, tokenizer, notes);
  state.reduction_groups = 1;
  state.tokenizer = tokenizer.tokenizer;
  state.config = model_values(model);
  Json imported{{"source", notes.source},
                {"sums", notes.sums},
                {"config", notes.config},
                {"texts", storable(notes.texts)},
                {"weights", notes.weights}};
  if (!notes.tokenizer_fault.empty()) imported["tokenizer_fault"] = notes.tokenizer_fault;
  state.imported = imported.dump(-1, ' ', false, Json::error_handler_t::replace);
  return to_json(state, {});
}

ImportNotes import_notes(const train::RunState& state, const std::string& origin) {
  if (state.imported.empty()) return {};
  try {
    const Json json = Json::parse(state.imported);
    ImportNotes notes{json.at("source"),  json.at("config"), json.at("texts"),
                      json.at("weights"), json.at("sums"),   json.value("tokenizer_fault", "")};
    check_names(notes, origin);
    take_bytes(notes.texts, origin);
    return notes;
  } catch (const Json::exception& error) {
    fail_usage("{}: what it keeps of its import cannot be read: {}", origin,
               json_fault(error.what()));
  }
}

ImportNotes read_notes(const std::string& folder) {
  ImportNotes notes;
  notes.source = folder;
  const std::string config = join_path(folder, "config.json");
  require(exists(config), "{} holds no config.json, which says what the model is", folder);
  notes.config = small_file(config, true);
  for (const char* name : kKept)
    if (const std::string path = join_path(folder, name); exists(path))
      notes.texts[name] = small_file(path, !holds_pieces(name));
  for (const std::string& name : other_templates(folder))
    notes.texts[name] = small_file(join_path(folder, name), true);
  return notes;
}

bool holds_tokenizer(const ImportNotes& notes) {
  return std::ranges::any_of(notes.texts, [](const auto& entry) {
    return holds_pieces(entry.first) ||
           std::ranges::find(kTokenizers, entry.first) != std::end(kTokenizers);
  });
}

void drop_tokenizer(ImportNotes& notes) {
  for (size_t i = kNoTokenizer; i < std::size(kKept); ++i) notes.texts.erase(kKept[i]);
  notes.tokenizer_fault.clear();
}

FolderTokenizer folder_tokenizer(const std::string& folder) {
  const auto has = [&](const char* name) { return exists(join_path(folder, name)); };
  if (!has("tokenizer.json") && !has("vocab.json") && !has("vocab.txt") &&
      !has("tokenizer.model") && !has("spiece.model")) {
    log::warn(
        "{} holds no tokenizer; give one with --tokenizer, without one the model cannot be used",
        folder);
    return {{}, "it holds no tokenizer.json, vocab.json, vocab.txt or SentencePiece model"};
  }
  const auto load = [&](const std::string& path) {
    return text::StoredTokenizer(text::load_tokenizer(path));
  };
  try {
    if (!has("tokenizer.json") && has("source.spm") && has("target.spm"))
      return {load(join_path(folder, "target.spm")), "", load(join_path(folder, "source.spm"))};
    return {load(folder)};
  } catch (const Error& error) {
    log::warn("the tokenizer is kept for the way back, but cannot be used: {}", error.what());
    return {{}, error.what()};
  }
}

std::string file_sum(const std::string& path) {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  const std::unique_ptr<XXH3_state_t, Free> state(XXH3_createState());
  XXH3_128bits_reset(state.get());
  FileReader reader(path);
  constexpr int64_t kRun = int64_t{1} << 22;
  Bytes run(std::min(kRun, std::max<int64_t>(1, reader.size())));
  for (int64_t left = reader.size(); left > 0; left -= kRun) {
    const int64_t bytes = std::min(kRun, left);
    reader.read(run.data(), bytes);
    XXH3_128bits_update(state.get(), run.data(), bytes);
  }
  const XXH128_hash_t sum = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", sum.high64, sum.low64);
}

}  // namespace skein::convert
