// Self-attention with grouped queries, optional rotary positions, and a KV cache for decoding.
#pragma once

#include "skein/kernels/rotary.h"
#include "skein/nn/layers.h"

namespace skein {

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
  int64_t window = 0;  // places that a token attends to, its own included; 0: all before it
  bool causal = true;  // false: all after it too
  double rate = 1;     // learning rate of the weights, as a multiple of the run's
  double scale = 0;    // of the scores; 0: 1 / sqrt(head_width)
};

class SelfAttention {
 public:
  SelfAttention(Parameters& parameters, const AttentionSpec& spec);
  Var operator()(const Var& x, const Pass& pass) const;  // [B,T,C] -> [B,T,C]

 private:
  Var attend(const Var& q, const Var& k, const Var& v, const Pass& pass) const;

  AttentionSpec spec_;
  Linear q_, k_, v_, out_;
};

}  // namespace skein
