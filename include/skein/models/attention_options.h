// Options of who sees whom in self-attention, in section "attention".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/nn/sight.h"

namespace skein {

struct AttentionOptions {
  // By block, begun again where there are more blocks: "full,window" gives every second block a
  // window.
  std::vector<std::string> kinds{"full"};
  std::vector<int64_t> windows{0};
  SightSpec other;  // what all blocks have in common; its kind and window are not read

  bool operator==(const AttentionOptions&) const = default;
  // All blocks see all that they may.
  bool is_full() const;
  // Whether a block is of that kind.
  bool has(SightKind kind) const;
  // How many tokens before its own one sees at most in a block, KvCache::kAll without limit; and in
  // that of so many blocks that sees furthest.
  int64_t reach_of_block(int64_t block) const;
  int64_t reach(int64_t blocks) const;
  // Kinds are taken for right here.
  SightSpec of_block(int64_t block, int64_t context) const;
};

// A window for all blocks.
AttentionOptions windowed(int64_t window);

void bind(Options& options, AttentionOptions& config);
// Throws usage errors for what cannot be, with both values. vocabulary: how many tokens there are.
void check(const AttentionOptions& config, bool causal, int64_t context, int64_t vocabulary);
// What the former option model.window stands for.
void take_former_window(int64_t window, bool sees_ahead, AttentionOptions& config);
// One line a kind of so many blocks that sees no less than full attention would in such a context,
// or that marks nothing; mostly none.
std::vector<std::string> useless_structures(const AttentionOptions& config, bool causal,
                                            int64_t context, int64_t blocks);

}  // namespace skein
