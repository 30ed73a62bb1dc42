#include <cmath>
#include <set>

#include "skein/core/error.h"
#include "skein/generate/beam_search.h"

namespace skein::generate {
namespace {

constexpr double kMostPenalty = 10;

void check_token(const char* name, int64_t id, const AnswerBounds& bounds,
                 const std::set<int64_t>& banned) {
  if (id < 0) return;
  require(id < bounds.vocabulary, "beam.{}={} is outside of the vocabulary of {}", name, id,
          bounds.vocabulary);
  require(
      !banned.contains(id),
      "beam.{}={} forces a token that is banned; take it out of sample.banned, or force another "
      "one",
      name, id);
}

// The end may not be asked for where it cannot come.
void check_end(const BeamConfig& c, const AnswerBounds& bounds) {
  require(c.min_tokens <= bounds.most,
          "beam.min_tokens={} is more than the {} of generate.max_tokens; no answer could end",
          c.min_tokens, bounds.most);
  require(c.first_token < 0 || c.first_token != bounds.end || c.min_tokens == 0,
          "beam.first_token={} ends every answer at once, but beam.min_tokens={} wants more",
          c.first_token, c.min_tokens);
}

}  // namespace

void bind(Options& options, BeamConfig& c) {
  options.add("beam.size", c.size,
              "beams of a prompt, which search for likely answers; 0: no search, a token at a time",
              "beams");
  options.add("beam.best", c.best, "answers to each prompt, the best of those found", "answers");
  options.add(
      "beam.length_penalty", c.length_penalty,
      "p in an answer's score, the sum of its log-probabilities / length^p; above 0 favours "
      "long ones");
  options.add_choice("beam.length_norm", c.length_norm,
                     {{"power", LengthNorm::power}, {"gnmt", LengthNorm::gnmt}},
                     "what divides the sum: length^p, or ((5 + length) / 6)^p");
  options.add_choice(
      "beam.early_stop", c.early_stop,
      {{"true", EarlyStop::at_once},
       {"false", EarlyStop::when_unlikely},
       {"never", EarlyStop::never}},
      "with beam.size answers found, end: at once; when the likeliest beam could beat none of them "
      "at its present length; or only when none could at any length");
  options.add("beam.min_tokens", c.min_tokens, "fewest new tokens before the end-of-text token",
              "tokens");
  options.add("beam.no_repeat_ngram", c.no_repeat_ngram,
              "no run of so many tokens comes twice in prompt and answer; 0: any may", "tokens");
  options.add("beam.first_token", c.first_token, "id that begins every answer; -1: none");
  options.add("beam.last_token", c.last_token,
              "id that ends every answer which reaches generate.max_tokens; -1: none");
}

void check(const BeamConfig& c) {
  require(c.size >= 0, "beam.size={} must not be below 0", c.size);
  require(c.best >= 1 && c.best <= std::max<int64_t>(c.size, 1),
          "beam.best={} must be from 1 to beam.size={}", c.best, c.size);
  require(std::abs(c.length_penalty) <= kMostPenalty,
          "beam.length_penalty={} must be from -{} to {}", c.length_penalty, kMostPenalty,
          kMostPenalty);
  require(c.min_tokens >= 0 && c.no_repeat_ngram >= 0,
          "beam.min_tokens={} and beam.no_repeat_ngram={} must not be below 0", c.min_tokens,
          c.no_repeat_ngram);
  require(c.first_token >= -1 && c.last_token >= -1,
          "beam.first_token={} and beam.last_token={} must be ids, or -1 for none", c.first_token,
          c.last_token);
}

void check(const BeamConfig& c, const Options& options) {
  for (const auto& [key, value] : options.values()) {
    if (!options.given(key)) continue;
    const bool of_beams = key.starts_with("beam.") && key != "beam.size",
               of_draws = key.starts_with("sample.") && key != "sample.banned";
    require(c.size > 0 || !of_beams, "{}={} needs beams, but beam.size=0; give beam.size=4, say",
            key, value);
    require(c.size == 0 || !of_draws,
            "{}={} is about sampling, and beam.size={} searches for likely answers; give one of "
            "them",
            key, value, c.size);
  }
  check(c);
}

void check(const BeamConfig& c, const AnswerBounds& bounds) {
  if (c.size == 0) return;
  std::set<int64_t> banned;
  for (int64_t id : bounds.banned)
    if (id < bounds.vocabulary) banned.insert(id);
  const int64_t left = bounds.vocabulary - std::ssize(banned);
  require(c.size <= left, "beam.size={} is more than the {} tokens that may come", c.size, left);
  check_token("first_token", c.first_token, bounds, banned);
  check_token("last_token", c.last_token, bounds, banned);
  check_end(c, bounds);
}

}  // namespace skein::generate
