#include "skein/train/tasks/pair_notes.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"

namespace skein::train {

std::string PairNotes::option(const std::string& key) const {
  const auto found = options.find(key);
  return found == options.end() ? "" : found->second;
}

TaskNotes to_notes(const PairNotes& notes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!notes.task.empty()) json["task"] = notes.task;
  if (!notes.start.empty()) json["start"] = notes.start;
  if (!notes.options.empty()) json["pairs"] = notes.options;
  if (!notes.source_tokenizer.empty()) json["source_tokenizer"] = notes.source_tokenizer.text();
  if (!notes.metric.empty()) json["metric"] = notes.metric;
  return json.empty() ? TaskNotes() : TaskNotes(json.dump());
}

PairNotes pair_notes(const TaskNotes& notes, const std::string& origin) {
  PairNotes made;
  if (notes.empty()) return made;
  try {
    const nlohmann::ordered_json& json = *notes;
    made.task = json.value("task", "");
    made.start = json.value("start", "");
    made.metric = json.value("metric", "");
    made.source_tokenizer = text::StoredTokenizer(json.value("source_tokenizer", ""));
    if (json.contains("pairs"))
      made.options = json.at("pairs").get<std::map<std::string, std::string>>();
  } catch (const std::exception& error) {
    fail_usage("the notes of {} on its pairs cannot be read: {}", origin, json_fault(error.what()));
  }
  return made;
}

std::string spelling(const text::Tokenizer& tokenizer, int32_t id) {
  if (id < 0 || id >= tokenizer.vocab_size()) return "";
  const auto specials = tokenizer.special_tokens();
  const auto found = std::ranges::find(specials, id, &std::pair<std::string, int32_t>::second);
  if (found != specials.end()) return found->first;
  const std::string text(tokenizer.bytes_of(id));
  return tokenizer.id_of(text) == id ? text : "";
}

std::string decoder_start(const TrainedModel& source, const std::string& given,
                          const std::string& option) {
  if (!given.empty()) {
    require(source.state.tokenizer->id_of(given) >= 0,
            "{}=\"{}\" is no token of the model's tokenizer; give one of its special tokens, such "
            "as <pad> or </s>",
            option, excerpt(given));
    return given;
  }
  const PairNotes notes = pair_notes(source.state.notes, source.info.path);
  require(!notes.start.empty() || !notes.task.empty(),
          "{} does not say which token its decoder is fed before an answer; name it in {}: <pad> "
          "for T5 and Marian, </s> for BART (decoder_start_token_id in config.json)",
          source.info.path, option);
  return notes.start;
}

data::PairTokenizers pair_tokenizers(const TrainedModel& source) {
  require_tokenizer(source);
  const PairNotes notes = pair_notes(source.state.notes, source.info.path);
  const auto target = source.state.tokenizer.value();
  return {notes.source_tokenizer.empty() ? target : notes.source_tokenizer.value(), target};
}

void check_sources(const ModelConfig& model, int64_t ids, const std::string& origin) {
  if (!model.architecture->maps_source(model)) return;
  const int64_t known = model.architecture->source_ids(model);
  require(known >= ids,
          "the model knows {} ids of sources, but {} has {}; give a larger "
          "model.source_vocab_size, or leave it out where sources and targets have one tokenizer",
          known, origin, ids);
}

}  // namespace skein::train
