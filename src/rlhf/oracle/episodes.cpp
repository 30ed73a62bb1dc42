#include "skein/rlhf/oracle/episodes.h"

#include <numeric>

#include "skein/core/error.h"

namespace skein::rlhf::oracle {

OraclePrompts::OraclePrompts(const OracleLanguage& language, uint64_t seed)
    : draws_(language, seed) {
  for (const OraclePrompt& prompt : language.prompts)
    prompts_.push_back({.tokens = language.prompt_tokens(prompt),
                        .messages = {{"user", language.text_of(prompt.symbols)}}});
}

rewards::Prompt OraclePrompts::at(int64_t index) const { return prompts_[draws_.prompt(index)]; }

std::vector<int64_t> oracle_banned(const OracleLanguage& language) {
  return {language.separator_id(), language.pad_id()};
}

void charge_unended(const OracleLanguage& language, policy::ShapingConfig& shaping) {
  using MissingEnd = policy::ShapingConfig::MissingEnd;
  const bool replaced = language.unended == UnendedScore::replace;
  shaping.missing_end = replaced                                     ? MissingEnd::replace
                        : language.unended == UnendedScore::subtract ? MissingEnd::subtract
                                                                     : MissingEnd::none;
  // What replaces a score is told there with its sign turned.
  shaping.missing_end_value = replaced ? -language.unended_value : language.unended_value;
}

std::vector<policy::Episode> oracle_episodes(const OracleLanguage& language) {
  std::vector<policy::Episode> episodes;
  for (const OraclePrompt& prompt : language.prompts)
    for (int64_t y = 0; y < language.responses.size(); ++y) {
      policy::Episode episode;
      episode.number = std::ssize(episodes);
      episode.prompt = {.tokens = language.prompt_tokens(prompt),
                        .messages = {{"user", language.text_of(prompt.symbols)}}};
      episode.tokens = language.response_tokens(y);
      episode.path.ended = language.responses.ended(y);
      episodes.push_back(std::move(episode));
    }
  return episodes;
}

ResponseLogs oracle_logs(const OracleLanguage& language,
                         const std::vector<policy::Episode>& episodes,
                         std::vector<double> policy::Trajectory::*token_logs) {
  const size_t responses = language.responses.size();
  SKEIN_CHECK_EQ(episodes.size(), language.prompts.size() * responses);
  ResponseLogs logs(language.prompts.size(), std::vector<double>(responses));
  for (size_t i = 0; i < episodes.size(); ++i) {
    const std::vector<double>& of_tokens = episodes[i].path.*token_logs;
    SKEIN_CHECK_EQ(std::ssize(of_tokens), language.responses.tokens_in(i % responses));
    logs[i / responses][i % responses] = std::accumulate(of_tokens.begin(), of_tokens.end(), 0.0);
  }
  return logs;
}

}  // namespace skein::rlhf::oracle
