// A model without weights: logits are a function of all tokens so far, in whole numbers, so that
// tools/make_beam_golden.py makes the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "skein/generate/beam_search.h"

namespace skein::test {

inline uint64_t scripted_state(const generate::Tokens& tokens) {
  uint64_t state = 0xcbf29ce484222325u;
  for (int32_t token : tokens) state = (state ^ static_cast<uint64_t>(token)) * 0x100000001b3u;
  return state;
}

// Multiples of 2^-21 from 0 to 8; of the end, which is to come often, from 4.
inline std::vector<float> scripted_logits(uint64_t state, int64_t ids, int32_t end) {
  std::vector<float> made;
  for (int64_t id = 0; id < ids; ++id) {
    uint64_t x = state + static_cast<uint64_t>(id + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    const float logit = static_cast<float>((x ^ x >> 31) >> 40) * 0x1p-21f;
    made.push_back(id == end ? 4 + logit / 2 : logit);
  }
  return made;
}

class ScriptedModel {
 public:
  explicit ScriptedModel(generate::AnswerBounds bounds) : bounds_(std::move(bounds)) {}

  // The ids after these tokens, the likeliest first; of beam 0.
  const std::vector<generate::Candidate>& after(const generate::Tokens& tokens) {
    const uint64_t state = scripted_state(tokens);
    std::vector<generate::Candidate>& known = known_[state];
    if (!known.empty()) return known;
    const std::vector<float> logits = scripted_logits(state, bounds_.vocabulary, bounds_.end);
    double sum = 0;
    for (float logit : logits) sum += std::exp(double{logit});
    for (int32_t id = 0; id < bounds_.vocabulary; ++id)
      known.push_back({0, id, static_cast<float>(logits[static_cast<size_t>(id)] - std::log(sum))});
    std::stable_sort(known.begin(), known.end(), [](const auto& a, const auto& b) {
      return a.log_probability > b.log_probability;
    });
    return known;
  }

  // What BeamSearch::advance needs of each beam, and no more.
  std::vector<generate::Candidate> candidates(const generate::BeamSearch& search,
                                              const generate::Tokens& prompt, int64_t each) {
    std::vector<generate::Candidate> made;
    for (size_t beam = 0; beam < search.beams().size(); ++beam) {
      generate::Tokens tokens = prompt;
      const generate::Tokens& own = search.beams()[beam].tokens;
      tokens.insert(tokens.end(), own.begin(), own.end());
      std::vector<int32_t> banned = search.next(beam).banned;
      banned.insert(banned.end(), bounds_.banned.begin(), bounds_.banned.end());
      int64_t left = each;
      for (generate::Candidate one : after(tokens)) {
        if (left == 0) break;
        if (std::find(banned.begin(), banned.end(), one.id) != banned.end()) continue;
        one.beam = static_cast<int64_t>(beam);
        made.push_back(one);
        --left;
      }
    }
    return made;
  }

  generate::BeamSearch searched(const generate::BeamConfig& config,
                                const generate::Tokens& prompt) {
    generate::BeamSearch search(config, prompt, bounds_.most, bounds_.end);
    while (!search.finished()) search.advance(candidates(search, prompt, 2 * config.size));
    return search;
  }

  generate::AnswerBounds& bounds() { return bounds_; }

 private:
  generate::AnswerBounds bounds_;
  std::unordered_map<uint64_t, std::vector<generate::Candidate>> known_;
};

}  // namespace skein::test
