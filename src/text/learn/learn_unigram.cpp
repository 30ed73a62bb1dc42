#include <map>
#include <set>

#include "skein/core/error.h"

#include "kinds.h"
#include "text/models/word_model.h"
#include "text/unigram_form.h"
#include "unigram_learner.h"

namespace skein::text {
namespace {

using Json = HuggingFaceJson;
constexpr size_t kLongestWord = 100;  // in characters; longer words are learnt from in parts

std::vector<CountedWord> counted_alphabet(const BpeTrainer& words, int64_t most) {
  std::vector<CountedWord> alphabet;
  for (const auto& [point, count] : frequent_characters(words, most)) {
    CountedWord character{"", count};
    append_utf8(point, character.text);
    alphabet.push_back(std::move(character));
  }
  return alphabet;
}

// What is left of the words where other characters divide them, in the order of bytes.
std::vector<CountedWord> known_parts(const BpeTrainer& words,
                                     const std::vector<CountedWord>& alphabet) {
  std::set<std::string, std::less<>> known;
  for (const CountedWord& character : alphabet) known.insert(character.text);
  std::map<std::string, int64_t> parts;
  words.for_each_word([&](std::string_view word, int64_t count) {
    std::string part;
    size_t characters = 0;
    const auto finish = [&] {
      if (!part.empty()) parts[part] += count;
      part.clear();
      characters = 0;
    };
    for (const std::string_view character : characters_in(word)) {
      if (!known.contains(character) || characters == kLongestWord) finish();
      if (!known.contains(character)) continue;
      part += character;
      ++characters;
    }
    finish();
  });
  std::vector<CountedWord> sorted;
  for (const auto& [text, count] : parts) sorted.push_back({text, count});
  return sorted;
}

}  // namespace

std::unique_ptr<Tokenizer> learn_unigram(const BpeTrainer& words, const TrainerSettings& settings,
                                         int threads) {
  TokenList tokens;
  for (const std::string& special : settings.special) tokens.add(special);
  auto vocabulary = Json::array();
  for (const std::string& special : settings.special) vocabulary.push_back({special, 0.0});
  if (settings.byte_fallback)
    for (int byte = 0; byte < 256; ++byte) {
      vocabulary.push_back({fmt::format("<0x{:02X}>", byte), 0.0});
      tokens.add(vocabulary.back()[0].get<std::string>());
    }
  const std::vector<CountedWord> alphabet = counted_alphabet(words, settings.limit_alphabet);
  const int64_t taken = tokens.size() + std::ssize(alphabet), room = settings.vocab_size - taken;
  require(room >= 0,
          "a vocabulary of {} ids is too small: special tokens{} and characters take {}; raise it, "
          "or limit the alphabet",
          settings.vocab_size, settings.byte_fallback ? ", bytes" : "", taken);
  UnigramLearner learner(known_parts(words, alphabet), alphabet, threads);
  for (const ScoredPiece& piece : learner.learn(settings.vocab_size - tokens.size(), kSpaceMark))
    if (tokens.find(piece.text) < 0) vocabulary.push_back({piece.text, piece.score});
  Json json = unigram_form(settings.normal_form == LearntForm::nfkc, settings.byte_fallback);
  json["added_tokens"] = added_tokens(settings.special);
  json["post_processor"] = frame(tokens);
  json["model"] = {{"type", "Unigram"},
                   {"unk_id", tokens.find("<unk>")},
                   {"vocab", std::move(vocabulary)},
                   {"byte_fallback", settings.byte_fallback}};
  return tokenizer_from_hugging_face(json);
}

}  // namespace skein::text
