#include "skein/train/tasks/text_input.h"

#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/data/files/suffix.h"

namespace skein::train {
namespace {

using Texts = std::vector<std::string>;

// Any bytes, which JSON's text could not hold.
template <class Value>
std::string packed(const Value& value) {
  const auto bytes = nlohmann::json::to_cbor(value);
  return {bytes.begin(), bytes.end()};
}

data::ExamplesFormat format_of(const std::string& path, data::ExamplesFormat format) {
  const bool lines = format == data::ExamplesFormat::automatic &&
                     data::format_in_name(path) == data::NamedFormat::other;
  return lines ? data::ExamplesFormat::lines : format;
}

}  // namespace

void TextInput::open() {
  LabelColumns columns = columns_;
  columns.format = format_of(path_, columns_.format);
  if (!pairs_) columns.pair.clear();
  require(!pairs_ || columns.format != data::ExamplesFormat::lines,
          "data.input={}: the model judges pairs, which a text a line does not hold; give CSV, TSV "
          "or JSONL",
          path_);
  reader_ = std::make_unique<data::ExampleReader>(
      examples_config(columns, {path_}, LabelKind::classify, false));
}

std::vector<data::LabelledExample> TextInput::next(size_t most, Group& world) {
  const std::string shared = checkpoint::from_root(world, [&] {
    if (!reader_) open();
    std::vector<Texts> texts;
    for (data::LabelledExample example; texts.size() < most && reader_->next(example); example = {})
      texts.push_back({example.text, example.pair});
    return packed(texts);
  });
  std::vector<data::LabelledExample> examples;
  for (auto& [text, pair] :
       nlohmann::json::from_cbor(shared).get<std::vector<std::pair<std::string, std::string>>>()) {
    data::LabelledExample& example = examples.emplace_back();
    example.text = std::move(text);
    example.pair = std::move(pair);
  }
  return examples;
}

std::vector<data::TaggedSentence> SentenceInput::next(size_t most, Group& world) {
  std::vector<data::TaggedSentence> sentences;
  const std::string shared = checkpoint::from_root(world, [&] {
    if (!reader_) reader_ = std::make_unique<data::ConllReader>(config_);
    std::vector<Texts> words;
    for (data::TaggedSentence sentence; sentences.size() < most && reader_->next(sentence);) {
      words.push_back(sentence.words);
      sentences.push_back(std::move(sentence));
    }
    return packed(words);
  });
  if (world.rank() == 0) return sentences;
  for (const auto& words : nlohmann::json::from_cbor(shared))
    sentences.emplace_back().words = words.get<Texts>();
  return sentences;
}

}  // namespace skein::train
