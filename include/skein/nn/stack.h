// Transformer blocks and the run over a range of them. Recompute policy lives here and nowhere
// else.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "skein/nn/attention.h"
#include "skein/nn/link_attention.h"

namespace skein {

// sandwich: pre, and what each sublayer makes has a norm too before it is added (Ding and others,
// "CogView", 2021; Gemma).
enum class NormPlacement { pre, post, sandwich };

// One addition to the residual stream. Names count from the block: "norm_1", "attention".
struct SublayerSpec {
  NormSpec norm;
  std::variant<AttentionSpec, MlpSpec, LinkAttentionSpec> branch;
  double dropout = 0;  // on the branch's result
  // Probability that a sample goes past the branch, whose result is else divided by 1 - that.
  double skip = 0;
  std::optional<NormSpec> result_norm = {};  // of the branch's result
};

struct BlockSpec {
  std::vector<SublayerSpec> sublayers;  // at least one
  NormPlacement placement = NormPlacement::pre;
  bool of_source = false;                        // its stream is the batch's source
  std::optional<PatchMergingSpec> merging = {};  // of what enters it
  double rows = 1;                               // of its stream, for each token of a sample
  // Of pre: all branches read norms of what enters the block (Wang and Komatsuzaki, "GPT-J-6B",
  // 2021).
  bool parallel = false;
};

// Stochastic depth: gives blocks, of which the first is number `first` of `all`, a `skip` that
// rises linearly from 0 in a model's first block to `most` in its last (Huang and others, "Deep
// networks with stochastic depth", 2016).
void give_skips(std::span<BlockSpec> blocks, int64_t first, int64_t all, double most);

// norm_1, attention, norm_2, mlp: what GPT, Llama and BERT are made of. Of sandwich result_norm_1
// and result_norm_2, too. The specs' names are replaced.
BlockSpec attention_and_mlp(const AttentionSpec& attention, const MlpSpec& mlp,
                            const NormSpec& norm, NormPlacement placement, double dropout);
// norm_1, links, norm_2, mlp: the same over the links of graphs.
BlockSpec links_and_mlp(const LinkAttentionSpec& links, const MlpSpec& mlp, const NormSpec& norm,
                        NormPlacement placement, double dropout);

class Sublayer {
 public:
  // block, and number in the block: the keys of its dropout masks.
  Sublayer(Parameters& parameters, const SublayerSpec& spec, int block, int number);
  // sum = x + branch(entered), and normed = next_norm(sum), made in one pass; undefined where
  // next_norm is null.
  ops::SumAndNorm operator()(const Var& x, const Var& entered, const NormLayer* next_norm,
                             const SideInputs& beside, const Pass& pass) const;
  const NormLayer& norm() const { return norm_; }

 private:
  Var branched(const Var& entered, const SideInputs& beside, const Pass& pass) const;
  Var skipped(const Var& branch, const Pass& pass) const;
  // The branch's result as it is added, without its value where nobody needs that.
  Var finished(const Var& branch, const Pass& pass) const;

  int block_, number_;
  double dropout_, skip_;
  NormLayer norm_;
  std::variant<Attention, Mlp, LinkAttention> branch_;
  std::optional<NormLayer> result_norm_;
};

// Merges patches, where it has a merging; then, for each sublayer f, in order:
//   pre:       x = x + f(norm(x))
//   post:      x = norm(x + f(x))
//   sandwich:  x = x + norm(f(norm(x)))
//   parallel:  x = x + f(norm(entered)), of what enters the block
class Block {
 public:
  Block(Parameters& parameters, int number, const BlockSpec& spec);
  // x [B,T,C] -> [B,T,C]; with a merging as PatchMerging says.
  Var operator()(const Var& x, const SideInputs& beside, const Pass& pass) const;
  bool learns() const { return sublayers_.front().norm().learns(); }

 private:
  Var run(size_t first, size_t last, const Var& in, const SideInputs& beside,
          const Pass& pass) const;
  Var added(const Var& x, size_t sublayer, const Var& in, const SideInputs& beside,
            const Pass& pass) const;
  Var run_parallel(const Var& in, const SideInputs& beside, const Pass& pass) const;

  std::string name_;
  NormPlacement placement_;
  bool parallel_;
  std::optional<PatchMerging> merging_;
  std::vector<Sublayer> sublayers_;
};

// Dropout on [B,T/t,C] activations at one site; x itself outside training.
Var residual_dropout(const Var& x, const Pass& pass, double probability, int block, int site);

// Blocks of a model, in order, which may differ. Recompute::full keeps a block's input only;
// selective keeps the input of each sublayer only. Frozen blocks before the first that learns keep
// nothing. In backward pass.gradients_done is called at the end of each block, and at the end of
// what comes behind the last one.
class Stack {
 public:
  // first: number of the first block in the whole model, whose tensors are "block.<first>...".
  Stack(Parameters& parameters, int first, int chunk, std::span<const BlockSpec> blocks);
  Var operator()(Var x, const Pass& pass, const SideInputs& beside = {}) const;

 private:
  std::vector<Block> blocks_;
  std::vector<int> buckets_;  // numbers: one of each block, and the first behind them
};

}  // namespace skein
