// Attention with grouped queries: of a sequence to itself, with optional rotary positions and a KV
// cache for decoding, or to another sequence.
#pragma once

#include <memory>
#include <optional>

#include "skein/kernels/rotary.h"
#include "skein/nn/hashed_sight.h"
#include "skein/nn/layers.h"
#include "skein/nn/sight.h"
#include "skein/nn/token_grid.h"
#include "skein/ops/attention.h"

namespace skein {

struct GraphInputs;

// What blocks read beside their stream; undefined where there is none.
struct SideInputs {
  Var memory;  // [B,S,M], another sequence
  Var bias;    // of the scores of self-attention by distance, [P,H/t,T+S-1] (ops/attention.h)
  // The links of graphs; null where tokens are no nodes.
  std::shared_ptr<const GraphInputs> graph = {};
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
  SightSpec sight = {};  // of self-attention
  bool causal = true;    // false: tokens see those after them too
  double rate = 1;       // learning rate of the weights, as a multiple of the run's
  double scale = 0;      // of the scores; 0: 1 / sqrt(head_width)
  // Width of another sequence, the memory, whose tokens keys and values are made of; all of them
  // are seen, so `sight` and `causal` play no part, and nothing is rotary. 0: self-attention.
  int64_t memory_width = 0;
  int dropout_site = 0;         // in the block
  double query_deviation = -1;  // of the queries' start weights; below 0: in_deviation
  // The tokens lie in a grid, and each sees those of its window there; `sight` and `causal` play
  // no part. Scores get a bias by offset.
  std::optional<GridWindows> grid = {};
  bool out_bias = true;  // false: the result has no bias, though queries, keys and values have
  // Epsilon of an RMS norm of each head's queries, and of its keys, before positions turn them
  // (Dehghani and others, "Scaling vision transformers to 22 billion parameters", 2023); none: no
  // such norm. Not of lsh, nor where marked tokens have projections of their own.
  std::optional<double> head_norm = {};
  ops::Norm head_norm_kind = ops::Norm::rms;  // or rms_zero_centered
};

// By lsh queries are their own keys, and there is no "NAME.k".
//
// Where marked tokens are queries of all others and there are tokens after them, they have
// projections of their own: "NAME.global_q", "NAME.global_k" and "NAME.global_v", like those of the
// rest.
//
// The norms of heads learn "NAME.q_norm.gain" and "NAME.k_norm.gain", [head_width] each, for all
// heads.
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
  // Of tokens that see all: what they ask, [B,M,H/t,D], and of whom.
  struct Marked {
    Tensor marks;  // [B,S], in host memory
    MarkedRows rows;
    Var q;
    KeysAndValues seen;
  };

  bool looks_elsewhere() const { return spec_.memory_width > 0; }
  bool hashes() const { return hashed_.has_value(); }
  bool marks() const { return spec_.sight.kind == SightKind::global; }
  Var queries_of(const Var& entered, const Pass& pass) const;
  KeysAndValues made_of(const Var& entered, const Pass& pass) const;
  KeysAndValues of_memory(const Var& memory, const Pass& pass) const;
  void turn(Var& q, KeysAndValues& seen, const Tensor& positions, const Tensor& of_keys) const;
  Marked marked_in(const Var& entered, const Pass& pass) const;
  Marked marked_of(const Tensor& marks, const Var& q, const KeysAndValues& own) const;
  ops::AttentionArguments arguments(int64_t heads, const Pass& pass) const;
  kernels::Pattern own_pattern(const Var& q, int64_t first_query, int64_t first_head) const;
  kernels::Pattern pattern_in_segments(const Var& q, int64_t first_head, const Pass& pass) const;
  Var watched(const Var& q, const KeysAndValues& seen, const ops::AttentionArguments& how,
              const Var& bias, const Pass& pass) const;
  Var attend(const Var& q, const KeysAndValues& own, const Var& bias, const Marked& marked,
             const Pass& pass) const;
  Var with_marked(const Var& near, const Marked& marked, const ops::AttentionArguments& how) const;
  Var decode(const Var& q, const KeysAndValues& own, const Var& bias, const Pass& pass) const;
  Tensor decode_row(const Tensor& q, const Tensor& keys, const Tensor& values,
                    ops::AttentionArguments how) const;
  Var attend_in_windows(const Var& q, const KeysAndValues& own, const Pass& pass) const;
  Var attend_hashed(const Var& q, const Var& v, const Pass& pass) const;
  Var decode_hashed(const Var& q, const Var& v, const Pass& pass) const;
  Var look(const Var& q, const KeysAndValues& elsewhere, const Pass& pass) const;

  AttentionSpec spec_;
  Linear q_;
  std::optional<Linear> k_;
  Linear v_, out_;
  std::optional<NormLayer> q_norm_, k_norm_;
  std::optional<Linear> global_q_, global_k_, global_v_;
  std::optional<WindowSight> windows_;
  std::optional<HashedSight> hashed_;
  // Lists of blocks hang on the shape alone; those that were asked for last are kept on their
  // device, with the pattern they are of.
  mutable SightShape listed_;
  mutable kernels::Pattern pattern_;
};

}  // namespace skein
