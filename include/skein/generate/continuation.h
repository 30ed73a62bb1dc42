// What continues a prompt.
#pragma once

#include <cstdint>
#include <vector>

namespace skein::generate {

using Tokens = std::vector<int32_t>;

struct Continuation {
  Tokens tokens;         // without the end-of-text token
  bool ended = false;    // by that token; else stopped, or cut: max_tokens, or a full context
  double score = 0;      // of a hypothesis (beam_search.h)
  bool stopped = false;  // by GenerateConfig::goes_on; of beams: since nothing may follow
  std::vector<float> log_probabilities = {};  // of the tokens, where they are wanted
  bool operator==(const Continuation&) const = default;
};

}  // namespace skein::generate
