// What continues a prompt.
#pragma once

#include <cstdint>
#include <vector>

namespace skein::generate {

using Tokens = std::vector<int32_t>;

struct Continuation {
  Tokens tokens;       // without the end-of-text token
  bool ended = false;  // by that token; else cut after max_tokens or where the context was full
  double score = 0;    // of a hypothesis (beam_search.h)
  bool operator==(const Continuation&) const = default;
};

}  // namespace skein::generate
