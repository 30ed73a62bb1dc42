// Attention with grouped queries: of a sequence to itself, with optional rotary positions and a KV
// cache for decoding, or to another sequence.
#pragma once

#include <optional>

#include "skein/kernels/rotary.h"
#include "skein/nn/layers.h"
#include "skein/nn/token_grid.h"
#include "skein/ops/attention.h"

namespace skein {

// What blocks read beside their stream; undefined where there is none.
struct SideInputs {
  Var memory;  // [B,S,M], another sequence
  Var bias;    // of the scores of self-attention by distance, [P,H/t,T+S-1] (ops/attention.h)
};

struct AttentionSpec {
  std::string name;
  int block = 0;
  int64_t width = 0, heads = 0, kv_heads = 0, head_width = 0;
  bool rotary = false;
  kernels::RotaryWaves waves = {};  // of rotary
  bool bias = true;
  double dropout = 0;
  double in_deviation = 0.02, out_deviation = 0.02;
  bool sequence_parallel = false;
  int64_t window = 0;  // tokens that a token attends to, its own included; 0: all before it
  bool causal = true;  // false: all after it too
  double rate = 1;     // learning rate of the weights, as a multiple of the run's
  double scale = 0;    // of the scores; 0: 1 / sqrt(head_width)
  // Width of another sequence, the memory, whose tokens keys and values are made of; all of them
  // are seen, so there is no window, `causal` plays no part, and nothing is rotary. 0:
  // self-attention.
  int64_t memory_width = 0;
  int dropout_site = 0;         // in the block
  double query_deviation = -1;  // of the queries' start weights; below 0: in_deviation
  // The tokens lie in a grid, and each sees those of its window there; `window` and `causal` play
  // no part. Scores get a bias by offset.
  std::optional<GridWindows> grid = {};
};

class Attention {
 public:
  Attention(Parameters& parameters, const AttentionSpec& spec);
  // x [B,T,C], of pass.sequence() -> [B,T,C]. The memory is made of pass.batch->source. Under
  // sequence parallelism [B,T/t,C] and [B,S/t,M]. When decoding, keys and values of the memory are
  // made once and kept; after that nothing reads it.
  Var operator()(const Var& x, const SideInputs& beside, const Pass& pass) const;

 private:
  struct KeysAndValues {
    Var k, v;  // [B,S,G/t,D]
  };

  bool looks_elsewhere() const { return spec_.memory_width > 0; }
  kernels::Pattern own_pattern(const Pass& pass) const;
  KeysAndValues made_of(const Var& entered, const Pass& pass) const;
  KeysAndValues of_memory(const Var& memory, const Pass& pass) const;
  ops::AttentionArguments arguments(int64_t heads, const Pass& pass) const;
  Var watched(const Var& q, const KeysAndValues& seen, const ops::AttentionArguments& how,
              const Var& bias, const Pass& pass) const;
  Var attend(const Var& q, const KeysAndValues& own, const Var& bias, const Pass& pass) const;
  Var attend_in_windows(const Var& q, const KeysAndValues& own, const Pass& pass) const;
  Var look(const Var& q, const KeysAndValues& elsewhere, const Pass& pass) const;

  AttentionSpec spec_;
  Linear q_, k_, v_, out_;
  std::optional<WindowSight> windows_;
};

}  // namespace skein
