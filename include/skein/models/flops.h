// Floating-point work of a model: what a run's speed is measured in.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "skein/models/config.h"
#include "skein/nn/cost.h"

namespace skein {

// How much of the T x T scores of causal attention counts: the half that is needed (Megatron-LM,
// llm.c) or all (PaLM's appendix B, torchtitan).
enum class AttentionCount { half, full };

// Floating-point operations of forward and backward for one token of a sequence of `length`, as the
// model's layers say them (nn/cost.h), by number of block; -1: the head, which works at the places
// where something is predicted (Architecture::rows_per_token). Recomputation is not counted.
// (Narayanan et al., "Efficient large-scale language model training on GPU clusters", 2021, without
// its recompute term.)
std::map<int, double> flops_by_block(const ModelConfig& model, int64_t length,
                                     AttentionCount count = AttentionCount::half);
// Of all blocks and the head, for any length, and any length of the source where the model reads
// one: describes the model once. frozen: train.frozen_layers, which have no backward.
class TokenFlops {
 public:
  explicit TokenFlops(const ModelConfig& model, AttentionCount count = AttentionCount::half,
                      int64_t frozen = -1);
  double operator()(int64_t length, int64_t source_length = 0) const;
  // Of causal attention's pairs of a query and a key beyond the half, as a prefix has them.
  double further_pairs(double pairs) const { return 2 * scores_ * pairs; }

 private:
  double structured(int64_t length) const;

  double products_ = 0, scores_ = 0;  // scores: for each token of the length
  // for each token of the source that comes with a token: its products, its scores for each token
  // of the source, and what both sides' tokens are to each other
  double source_products_ = 0, source_scores_ = 0, cross_scores_ = 0;
  struct Structure {
    ScoreCost cost;
    double share;  // as BackwardReach says
  };
  std::vector<Structure> structures_;
  mutable std::map<int64_t, double> known_;  // of the structures, by length
};
// Of one length, with as long a source as comes with it (Architecture::rows_per_token).
double model_flops_per_token(const ModelConfig& model, int64_t length,
                             AttentionCount count = AttentionCount::half, int64_t frozen = -1);

}  // namespace skein
