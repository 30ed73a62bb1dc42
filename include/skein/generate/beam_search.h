// Beam search for one prompt, without a model: log-probabilities in, choices out.
//
// It follows transformers (5.23), whose tokens it finds. A step looks at the 2 * size likeliest of
// all continuations of the running beams. One that ends, by the end-of-text token or because it is
// as long as may be, becomes a hypothesis if it is among the first `size`; the first `size` that do
// not end are the next beams. The best `size` hypotheses are kept. Where nothing may follow any
// beam and there is no hypothesis, the beams become those, as stopped ones.
//
// The sum of a beam's log-probabilities is f32, added from its first token to its last. A
// hypothesis of l ids, the end among them, has the score sum / l^length_penalty, or
// sum / ((5 + l) / 6)^length_penalty (Wu et al., "Google's neural machine translation system",
// 2016), in f64. Equal sums go by the lower beam, then by the lower id; of equal scores the earlier
// hypothesis is the better one.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/generate/continuation.h"

namespace skein::generate {

// When `size` hypotheses are there: at once; when the likeliest beam, at its present length, could
// not beat the worst of them; or, `never`, not even at the length that is best for it, which is the
// longest one where the penalty is above 0. So `never` alone misses nothing.
enum class EarlyStop { at_once, when_unlikely, never };
enum class LengthNorm { power, gnmt };

struct BeamConfig {
  int64_t size = 0;  // beams of a prompt; 0: no search, tokens are sampled
  int64_t best = 1;  // hypotheses that are given
  double length_penalty = 1;
  LengthNorm length_norm = LengthNorm::power;
  EarlyStop early_stop = EarlyStop::when_unlikely;  // one beam alone stops at once: it is greedy
  int64_t min_tokens = 0;                           // fewest before the end-of-text token
  int64_t no_repeat_ngram = 0;  // no n-gram of prompt and answer comes twice; 0: any may
  int64_t first_token = -1;     // of every answer
  int64_t last_token = -1;      // of every answer that is as long as may be
  bool operator==(const BeamConfig&) const = default;
};

// Binds every field under section "beam".
void bind(Options& options, BeamConfig& config);
// Usage errors with the value and its range; and for options that mean nothing together with the
// others: those of beams where size is 0, those of draws (sampling.h, but for sample.banned) where
// it is not.
void check(const BeamConfig& config, const Options& options);
void check(const BeamConfig& config);

// What a search is asked to find answers in.
struct AnswerBounds {
  int64_t most = 0;                  // ids of an answer, the end among them
  int32_t end = -1;                  // the token that ends it; -1: none
  int64_t vocabulary = 0;            // only ids below it are chosen
  std::vector<int64_t> banned = {};  // ids that never are
};
// Usage errors for what they leave no room for: more beams than ids, a forced token that is banned,
// an end that may not come.
void check(const BeamConfig& config, const AnswerBounds& bounds);

struct Beam {
  Tokens tokens;       // after the prompt
  float sum = 0;       // of their log-probabilities
  int64_t parent = 0;  // the beam of the step before that it continues
  bool operator==(const Beam&) const = default;
};

// What may follow a beam.
struct NextToken {
  int32_t forced = -1;               // this id alone, with log-probability 0
  std::vector<int32_t> banned = {};  // else all but these; an id may stand here twice
};

struct Candidate {
  int64_t beam = 0;
  int32_t id = 0;
  float log_probability = 0;
};

class BeamSearch {
 public:
  // prompt: the tokens that n-grams are compared with, beside the answer's own; it outlives the
  // search. most, end: as in AnswerBounds.
  BeamSearch(const BeamConfig& config, const Tokens& prompt, int64_t most, int32_t end);

  // At most `size`, the likeliest first; one without tokens at the beginning.
  const std::vector<Beam>& beams() const { return beams_; }
  // Tokens of each.
  int64_t length() const { return length_; }
  bool finished() const { return finished_; }

  NextToken next(size_t beam) const;
  // candidates: of each beam whose next token is not forced the 2 * size likeliest ids that are not
  // banned, or all of them, in any order; those of -inf may be left out. An internal error once it
  // is finished.
  void advance(const std::vector<Candidate>& candidates);

  // The best so far, the best first; fewer than config.best only where fewer could be made.
  std::vector<Continuation> best() const;

 private:
  struct Continued {
    Candidate by;
    float sum;
  };

  int32_t forced() const;  // the next token of every beam; -1: none is
  std::vector<Continued> likeliest(const std::vector<Candidate>& candidates) const;
  void keep(const Continued& ended);
  void keep_beams();
  void insert(Continuation made);
  bool can_improve() const;
  double score(float sum, int64_t length) const;

  BeamConfig config_;
  const Tokens* prompt_;
  int64_t most_;
  int32_t end_;
  int64_t length_ = 0;
  bool finished_ = false;
  std::vector<Beam> beams_{1};
  std::vector<Continuation> hypotheses_;  // the best first
};

}  // namespace skein::generate
