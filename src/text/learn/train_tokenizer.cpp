#include "skein/text/train_tokenizer.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/text/models/byte_alphabet.h"

#include "kinds.h"
#include "merge_learner.h"
#include "text/models/spelling.h"
#include "text/split/normalize.h"
#include "text/split/splits.h"
#include "text/split/unicode.h"
#include "text/unigram_form.h"

namespace skein::text {

struct TokenizerTrainer::Form {
  std::vector<NormalizerStep> normalizer;
  std::vector<SplitStep> splits;
};

namespace {

constexpr const char* kPrefix = "##";
constexpr int64_t kMostSpecials = 1 << 16;
using Json = HuggingFaceJson;

std::vector<int32_t> characters_of(std::string_view word) {
  std::vector<int32_t> points;
  for (size_t at = 0; at < word.size();) {
    const Character next = character_at(word, at);
    if (next.point >= 0) points.push_back(next.point);
    at += next.bytes;
  }
  return points;
}

using Merges = std::vector<std::pair<int32_t, int32_t>>;

std::string joined(const std::string& left, const std::string& right, const std::string& prefix) {
  const bool continues = !prefix.empty() && right.starts_with(prefix);
  return left + (continues ? right.substr(prefix.size()) : right);
}

Merges learn(MergeLearner& learner, const TrainerSettings& settings, const std::string& prefix,
             TokenList& tokens) {
  const auto room = [&] { return tokens.size() < settings.vocab_size; };
  return learner.learn(settings.min_frequency, room, [&](int32_t left, int32_t right) {
    return tokens.add(joined(tokens[left], tokens[right], prefix));
  });
}

std::unique_ptr<Tokenizer> learn_byte_bpe(const BpeTrainer& words,
                                          const TrainerSettings& settings) {
  TokenList tokens;
  for (const std::string& special : settings.special) tokens.add(special);
  std::array<int32_t, 256> id_of_byte;
  for (const uint8_t byte : byte_of_id())
    id_of_byte[byte] = tokens.add(spelt(std::string(1, byte)));
  MergeLearner learner(std::vector<uint64_t>(tokens.size(), 1));
  words.for_each_word([&](std::string_view word, int64_t count) {
    std::vector<int32_t> symbols;
    for (const unsigned char byte : word) symbols.push_back(id_of_byte[byte]);
    learner.add_word(symbols, count);
  });
  const Merges learnt = learn(learner, settings, "", tokens);
  auto merges = Json::array();
  for (const auto& [left, right] : learnt) merges.push_back({tokens[left], tokens[right]});
  return tokenizer_from_hugging_face(
      {{"added_tokens", added_tokens(settings.special)},
       {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
       {"post_processor", frame(tokens)},
       {"decoder", {{"type", "ByteLevel"}}},
       {"model",
        {{"type", "BPE"}, {"vocab", tokens.vocabulary()}, {"merges", std::move(merges)}}}});
}

// The most frequent characters, by code point.
std::set<int32_t> alphabet_of(const BpeTrainer& words, int64_t most) {
  std::set<int32_t> alphabet;
  for (const auto& [point, count] : frequent_characters(words, most)) alphabet.insert(point);
  return alphabet;
}

std::string utf8(int32_t point) {
  std::string text;
  append_utf8(point, text);
  return text;
}

// Words by the characters of the alphabet that are in them, as the alphabet's order has them first
// within words.
using WordsByCharacters = std::vector<std::pair<std::vector<int32_t>, int64_t>>;

WordsByCharacters known_characters(const BpeTrainer& words, const std::set<int32_t>& alphabet,
                                   std::set<int32_t>& inner) {
  WordsByCharacters known;
  words.for_each_word([&](std::string_view word, int64_t count) {
    const auto points = characters_of(word);
    std::vector<int32_t> kept;  // negative inside of a word
    for (size_t i = 0; i < points.size(); ++i) {
      if (!alphabet.contains(points[i])) continue;
      if (i > 0) inner.insert(points[i]);
      kept.push_back(i > 0 ? -points[i] : points[i]);
    }
    known.emplace_back(std::move(kept), count);
  });
  return known;
}

void add_words(const WordsByCharacters& words, const TokenList& tokens, MergeLearner& learner) {
  std::unordered_map<int32_t, int32_t> ids;
  std::vector<int32_t> symbols;
  for (const auto& [points, count] : words) {
    symbols.clear();
    for (const int32_t point : points) {
      const auto [found, fresh] = ids.try_emplace(point, -1);
      if (fresh) found->second = tokens.find(point < 0 ? kPrefix + utf8(-point) : utf8(point));
      symbols.push_back(found->second);
    }
    learner.add_word(symbols, count);
  }
}

std::unique_ptr<Tokenizer> learn_wordpiece(const BpeTrainer& words,
                                           const TrainerSettings& settings) {
  TokenList tokens;
  for (const std::string& special : settings.special) tokens.add(special);
  const std::set<int32_t> alphabet = alphabet_of(words, settings.limit_alphabet);
  std::set<int32_t> inner;
  const WordsByCharacters known = known_characters(words, alphabet, inner);
  for (const int32_t point : alphabet) tokens.add(utf8(point));
  for (const int32_t point : inner) tokens.add(kPrefix + utf8(point));
  require(tokens.size() <= settings.vocab_size,
          "a vocabulary of {} ids is too small: special tokens and characters take {}; raise it, "
          "or limit the alphabet",
          settings.vocab_size, tokens.size());
  MergeLearner learner(tokens.lengths());
  add_words(known, tokens, learner);
  learn(learner, settings, kPrefix, tokens);
  return tokenizer_from_hugging_face(
      {{"added_tokens", added_tokens(settings.special)},
       {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", settings.lowercase}}},
       {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
       {"post_processor", frame(tokens)},
       {"decoder", {{"type", "WordPiece"}}},
       {"model", {{"type", "WordPiece"}, {"vocab", tokens.vocabulary()}}}});
}

NormalizerStep bert_step(bool lowercase) {
  NormalizerStep step{NormalizerStep::Kind::bert};
  step.lowercase = step.strip_accents = lowercase;
  return step;
}

// What stands for text that the kind cannot spell.
const char* unknown_of(LearntKind kind) {
  if (kind == LearntKind::bpe) return "";
  return kind == LearntKind::wordpiece ? "[UNK]" : "<unk>";
}

std::vector<std::string> usual_specials(LearntKind kind) {
  switch (kind) {
    case LearntKind::wordpiece: return {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    case LearntKind::unigram: return {"<unk>", "<s>", "</s>"};
    case LearntKind::word: return {"<pad>", "<s>", "</s>", "<unk>"};
    default: return {};
  }
}

// Ids that any text takes, beside the special ones.
int64_t least_ids(const TrainerSettings& settings) {
  const bool bytes = settings.kind == LearntKind::bpe ||
                     (settings.kind == LearntKind::unigram && settings.byte_fallback);
  return bytes ? 256 : 1;
}

void check_specials(const TrainerSettings& settings) {
  const auto& special = settings.special;
  require(std::ssize(special) <= kMostSpecials, "{} special tokens are too many; {} is the most",
          special.size(), kMostSpecials);
  for (const std::string& token : special) {
    require(!token.empty(), "a special token is empty");
    require(std::count(special.begin(), special.end(), token) == 1,
            "the special token {} is given twice", token);
    require(valid_bytes(token) == token.size(), "a special token is not valid UTF-8");
  }
  const char* unknown = unknown_of(settings.kind);
  require(*unknown == '\0' || std::count(special.begin(), special.end(), unknown) == 1,
          "the special tokens {} lack {}, which {} needs", fmt::join(special, " "), unknown,
          settings.kind == LearntKind::wordpiece ? "WordPiece" : "this kind");
}

}  // namespace

Json added_tokens(const std::vector<std::string>& special) {
  auto list = Json::array();
  for (size_t id = 0; id < special.size(); ++id)
    list.push_back({{"id", id},
                    {"content", special[id]},
                    {"lstrip", special[id] == "<mask>"},
                    {"special", true}});
  return list;
}

// What stands around samples, of the tokens that are there.
Json frame(const TokenList& tokens) {
  const auto named = [&](const char* name) {
    return Json::array({name, narrow<uint32_t>(tokens.find(name))});
  };
  if (tokens.find("[CLS]") >= 0 && tokens.find("[SEP]") >= 0)
    return {{"type", "BertProcessing"}, {"sep", named("[SEP]")}, {"cls", named("[CLS]")}};
  if (tokens.find("<s>") >= 0 && tokens.find("</s>") >= 0)
    return {{"type", "RobertaProcessing"},
            {"sep", named("</s>")},
            {"cls", named("<s>")},
            {"add_prefix_space", false}};
  return nullptr;
}

std::vector<std::pair<int32_t, int64_t>> frequent_characters(const BpeTrainer& words,
                                                             int64_t most) {
  std::map<int32_t, int64_t> counts;
  words.for_each_word([&](std::string_view word, int64_t count) {
    for (const int32_t point : characters_of(word)) counts[point] += count;
  });
  std::vector<std::pair<int32_t, int64_t>> ranked(counts.begin(), counts.end());
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& left, const auto& right) { return left.second > right.second; });
  ranked.resize(std::min(most, std::ssize(ranked)));
  return ranked;
}

TokenizerTrainer::TokenizerTrainer(TrainerSettings settings) : settings_(std::move(settings)) {
  if (settings_.special.empty()) settings_.special = usual_specials(settings_.kind);
  check_specials(settings_);
  require(settings_.limit_alphabet >= 1,
          "an alphabet of {} characters makes no sense; use 1 or more", settings_.limit_alphabet);
  require(settings_.min_frequency >= 1, "a least frequency of {} makes no sense; use 1 or more",
          settings_.min_frequency);
  require(settings_.pattern.empty() || settings_.kind == LearntKind::word,
          "a pattern of words ({}) is for whole words only (tokenizer.kind=word)",
          settings_.pattern);
  read_form();
  const auto least = std::ssize(settings_.special) + least_ids(settings_);
  if (settings_.special.empty())
    BpeTrainer().train(settings_.vocab_size, settings_.min_frequency);
  else
    require(settings_.vocab_size >= least && settings_.vocab_size <= int64_t{1} << 24,
            "a vocabulary of {} ids cannot be learnt: special tokens and alphabet take {}, and {} "
            "is the most",
            settings_.vocab_size, least, int64_t{1} << 24);
}

// How text is divided, of the kinds that the trained tokenizer.json says it of.
void TokenizerTrainer::read_form() {
  Json form = Json::object();
  if (settings_.kind == LearntKind::unigram)
    form = unigram_form(settings_.normal_form == LearntForm::nfkc, settings_.byte_fallback);
  else if (settings_.kind == LearntKind::word)
    form["pre_tokenizer"] = words_form(settings_);
  const auto read = std::make_shared<Form>();
  bool byte_level = false;
  read_normalizer(form.value("normalizer", Json()), read->normalizer);
  read_pre_tokenizer(form.value("pre_tokenizer", Json()), read->splits, byte_level);
  form_ = read;
}

void TokenizerTrainer::count(std::string_view text) {
  if (settings_.kind == LearntKind::bpe) return words_.count(text);
  const auto count_word = [this](std::string_view word) { words_.count_word(word); };
  if (settings_.kind == LearntKind::wordpiece)
    return split_bert(normalized(text, bert_step(settings_.lowercase)), count_word);
  const std::string made = normalized(text, form_->normalizer);
  split_by(form_->splits, 0, made, {}, count_word);
}

std::unique_ptr<Tokenizer> TokenizerTrainer::train(int threads) const {
  switch (settings_.kind) {
    case LearntKind::wordpiece: return learn_wordpiece(words_, settings_);
    case LearntKind::unigram: return learn_unigram(words_, settings_, threads);
    case LearntKind::word: return learn_words(words_, settings_);
    case LearntKind::bpe: break;
  }
  if (!settings_.special.empty()) return learn_byte_bpe(words_, settings_);
  return bpe_tokenizer(words_.train(settings_.vocab_size, settings_.min_frequency));
}

int64_t TokenizerTrainer::unknown_words(const Tokenizer& tokenizer) const {
  int64_t unknown = 0;
  words_.for_each_word([&](std::string_view word, int64_t count) {
    unknown += tokenizer.id_of(word) < 0 ? count : 0;
  });
  return unknown;
}

}  // namespace skein::text
