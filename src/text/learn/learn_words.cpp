#include <algorithm>

#include "kinds.h"

namespace skein::text {
namespace {

using Json = HuggingFaceJson;

}  // namespace

Json words_form(const TrainerSettings& settings) {
  if (settings.pattern.empty()) return {{"type", "WhitespaceSplit"}};
  return {{"type", "Split"},
          {"pattern", {{"Regex", settings.pattern}}},
          {"behavior", "Removed"},
          {"invert", true}};
}

// Equally frequent words go by their bytes.
std::unique_ptr<Tokenizer> learn_words(const BpeTrainer& words, const TrainerSettings& settings) {
  std::vector<std::pair<int64_t, std::string>> ranked;
  words.for_each_word([&](std::string_view word, int64_t count) {
    if (count >= settings.min_frequency && valid_utf8(word) && word.size() <= kLongestToken)
      ranked.emplace_back(-count, word);
  });
  std::sort(ranked.begin(), ranked.end());
  TokenList tokens;
  for (const std::string& special : settings.special) tokens.add(special);
  for (size_t i = 0; i < ranked.size() && tokens.size() < settings.vocab_size; ++i)
    tokens.add(ranked[i].second);
  return tokenizer_from_hugging_face(
      {{"added_tokens", added_tokens(settings.special)},
       {"pre_tokenizer", words_form(settings)},
       {"post_processor", frame(tokens)},
       {"model", {{"type", "WordLevel"}, {"vocab", tokens.vocabulary()}, {"unk_token", "<unk>"}}}});
}

}  // namespace skein::text
