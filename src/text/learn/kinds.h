// The kinds of tokenizers that are learnt from counted words, beside byte-level BPE on its own.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/text/train_tokenizer.h"

#include "text/hugging_face.h"

namespace skein::text {

// Tokens in the order of their ids, each once.
class TokenList {
 public:
  int32_t add(const std::string& token) {
    const auto [found, fresh] = ids_.emplace(token, narrow<int32_t>(tokens_.size()));
    if (fresh) tokens_.push_back(token);
    return found->second;
  }
  int64_t size() const { return std::ssize(tokens_); }
  const std::string& operator[](int32_t id) const { return tokens_[id]; }
  int32_t find(const std::string& token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? -1 : found->second;
  }
  HuggingFaceJson vocabulary() const {
    HuggingFaceJson json = HuggingFaceJson::object();
    for (size_t id = 0; id < tokens_.size(); ++id) json[tokens_[id]] = id;
    return json;
  }
  std::vector<uint64_t> lengths() const {
    std::vector<uint64_t> lengths;
    for (const std::string& token : tokens_) lengths.push_back(token.size());
    return lengths;
  }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
};

HuggingFaceJson added_tokens(const std::vector<std::string>& special);
// What stands around samples, of the tokens that are there.
HuggingFaceJson frame(const TokenList& tokens);
// The most frequent characters and how often each occurs, by falling count, then by code point.
std::vector<std::pair<int32_t, int64_t>> frequent_characters(const BpeTrainer& words, int64_t most);

std::unique_ptr<Tokenizer> learn_unigram(const BpeTrainer& words, const TrainerSettings& settings,
                                         int threads);

// The "pre_tokenizer" of whole words: white space divides, or the pattern's matches are words.
HuggingFaceJson words_form(const TrainerSettings& settings);
std::unique_ptr<Tokenizer> learn_words(const BpeTrainer& words, const TrainerSettings& settings);

}  // namespace skein::text
