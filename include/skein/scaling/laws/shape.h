// Model shapes and their counts: from a number of parameters to layers x width, and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/models/config.h"

namespace skein::scaling {

struct ShapeRule {
  int64_t d_head = 64;  // widths are its multiples
  double aspect = 64;   // width / layers aimed at
  int64_t least_heads = 1;
  int64_t most_layers = 128;
  // heads are its multiples, and key heads as far as their share of the heads goes, so that as many
  // ranks can divide both
  int64_t heads_together = 1;
};

// `base` with the layers, width and heads whose blocks have about `block_parameters` learned
// numbers: of all shapes by the rule the one with the least |ln(parameters / wanted)| + |ln(aspect
// / aimed at)| / 10, so that a factor of 2 in the aspect weighs as much as 7% of the parameters
// (the loss is flat in the aspect over a factor of ten: Kaplan et al., 2020, figure 5). d_ff and
// n_kv_heads, where base gives them, keep their proportion to the width and to the heads. A usage
// error when the parameters are off by more than a factor of 1.5.
ModelConfig shape_for(double block_parameters, const ModelConfig& base, const ShapeRule& rule);

struct ModelCounts {
  // embedding: tokens, learned positions and token types; head: C V whether tied or not, or that of
  // labels in a model without a vocabulary; all: tied tensors once, the last norm too
  double blocks = 0, embedding = 0, head = 0, all = 0;
  double flops_per_token = 0;  // model_flops_per_token at the model's context, half the scores
};
ModelCounts counts_of(const ModelConfig& model);
// The same model with so many layers and heads of width d_head, d_ff and n_kv_heads in proportion.
// Heads are always a multiple of the key heads. With heads_together, a power of two above 1, key
// heads are a multiple of it too, or of the largest power of two below twice their proportion where
// that is less: of these the nearest to the proportion. 72 heads at 8 to 64 have 8 of them, not 9.
ModelConfig with_shape(const ModelConfig& base, int64_t layers, int64_t d_model, int64_t d_head,
                       int64_t heads_together = 1);

// Learning rate and batch by size, as published, N being the parameters that a rule counts:
//   kaplan    lr .003239 - .0001395 ln N; blocks (Kaplan et al., 2020, D.6)
//   porian    lr .0047 (N/1.08e8)^(-1/3), batch 160 * 2048 (N/1.08e8)^(2/3) tokens; blocks and
//             head (Porian et al., 2024)
//   deepseek  lr .3118 C^-.125, batch .2920 C^.3271 tokens (DeepSeek-AI, 2024)
//   step_law  lr 1.79 N^-.713 D^.307, batch .58 D^.571 tokens; blocks (Li et al., "Step Law", 2025)
struct Hyperparameters {
  double lr = 0, batch_tokens = 0;  // batch 0: the rule says nothing of it
};
// A usage error for another rule, and where a formula gives no positive rate (kaplan's from 1.2e10
// parameters on).
Hyperparameters hyperparameters(const std::string& rule, const ModelCounts& counts, double tokens);
const std::vector<std::string>& hyperparameter_rules();

}  // namespace skein::scaling
