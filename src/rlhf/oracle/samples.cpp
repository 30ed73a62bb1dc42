#include "skein/rlhf/oracle/samples.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/data/samples/draws.h"
#include "skein/data/samples/windows.h"
#include "skein/rlhf/oracle/oracle.h"

namespace skein::rlhf::oracle {
namespace {

std::vector<double> probabilities(const std::vector<OraclePrompt>& prompts) {
  std::vector<double> made;
  for (const OraclePrompt& prompt : prompts) made.push_back(prompt.probability);
  return made;
}

template <class Probabilities>
double entropy(const Probabilities& probabilities) {
  double sum = 0;
  for (const double p : probabilities) sum -= p > 0 ? p * std::log(p) : 0;
  return sum;
}

// Of the prompt and the separator, given the first token of them.
double prompt_entropy(const OracleLanguage& language) {
  std::map<int32_t, double> first;
  for (const OraclePrompt& prompt : language.prompts)
    first[language.prompt_tokens(prompt).front()] += prompt.probability;
  std::vector<double> of_first;
  for (const auto& [token, probability] : first) of_first.push_back(probability);
  return entropy(probabilities(language.prompts)) - entropy(of_first);
}

}  // namespace

WeightedDraw::WeightedDraw(const std::vector<double>& weights) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    SKEIN_CHECK(weights[i] >= 0);
    if (weights[i] > 0) last_ = i;
    below_.push_back(sum += weights[i]);
  }
  SKEIN_CHECK(sum > 0);
}

int64_t WeightedDraw::at(double uniform) const {
  const auto found = std::upper_bound(below_.begin(), below_.end(), uniform * below_.back());
  return std::min<int64_t>(found - below_.begin(), last_);
}

OracleDraws::OracleDraws(const OracleLanguage& language, uint64_t seed)
    : language_(language),
      prompt_key_(derive_key(seed, "oracle prompt")),
      text_key_(derive_key(seed, "oracle text")),
      prompts_(probabilities(language.prompts)) {
  language_.rewards.clear();
  for (const auto& row : language.transitions) next_.emplace_back(row);
  if (!language.initial.empty()) next_.emplace_back(language.initial);
}

int64_t OracleDraws::prompt(int64_t k) const {
  return prompts_.at(data::Draws(prompt_key_, k).uniform());
}

std::vector<int32_t> OracleDraws::text(int64_t index) const {
  data::Draws draws(text_key_, index);
  const OraclePrompt& prompt = language_.prompts[prompts_.at(draws.uniform())];
  std::vector<int32_t> tokens = language_.prompt_tokens(prompt);
  size_t last = prompt.symbols.empty() ? language_.end_id() : prompt.symbols.back();
  for (int64_t t = 0; t < language_.responses.length(); ++t) {
    tokens.push_back(narrow<int32_t>(next_[last].at(draws.uniform())));
    last = tokens.back();
    if (tokens.back() == language_.end_id()) break;
  }
  return tokens;
}

OracleSamples::OracleSamples(const OracleLanguage& language, uint64_t seed, int64_t per_epoch)
    : draws_(language, seed),
      context_(language.context()),
      per_epoch_(per_epoch),
      pad_(language.pad_id()) {
  SKEIN_CHECK(per_epoch >= 1);
}

data::Batch OracleSamples::empty_batch(int64_t count) const {
  return data::empty_batch(count, context_, {});
}

void OracleSamples::fill(const data::Batch& batch, int64_t row, int64_t index) const {
  const std::vector<int32_t> text = draws_.text(index);
  const auto predicted = std::ssize(text) - 1;
  for (int64_t t = 0; t < context_; ++t) {
    const int64_t at = row * context_ + t;
    const bool counts = t < predicted;
    batch.tokens.data<int32_t>()[at] = counts ? text[t] : pad_;
    batch.targets.data<int32_t>()[at] = counts ? text[t + 1] : pad_;
    batch.positions.data<int32_t>()[at] = narrow<int32_t>(t);
    batch.weights.data<float>()[at] = counts ? 1 : 0;
  }
}

double least_text_loss(const OracleLanguage& language) {
  const ResponseLogs logs = chain_logs(language);
  double response_entropy = 0, response_tokens = 0, prompt_symbols = 0;
  for (size_t x = 0; x < logs.size(); ++x) {
    const OraclePrompt& prompt = language.prompts[x];
    prompt_symbols += prompt.probability * prompt.symbols.size();
    for (int64_t y = 0; y < language.responses.size(); ++y) {
      const double log_p = logs[x][y];
      const double p = prompt.probability * std::exp(log_p);
      if (p == 0) continue;
      response_entropy -= p * log_p;
      response_tokens += p * language.responses.tokens_in(y);
    }
  }
  return (prompt_entropy(language) + response_entropy) / (prompt_symbols + response_tokens);
}

}  // namespace skein::rlhf::oracle
