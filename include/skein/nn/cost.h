// What layers hold, keep and compute. It is asked of Parameters that describe the layers and need
// no memory for it. Each tensor says what it is multiplied with; what a layer does beside these
// products, the layer records when it is made.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "skein/nn/pass.h"

namespace skein {

struct Parameter;
class Parameters;

// The rows that a weight is multiplied with: those of all tokens, of all tokens of the batch's
// source, of the places at which something is predicted, or one a sample. looked_up: rows of its
// own are taken instead. none: its numbers are added or multiplied one by one.
enum class RowKind { none, looked_up, tokens, source_tokens, places, samples };

// Attention: a query and each key that it sees meet over `width` numbers, for the score and for the
// weighted sum.
struct ScoreCost {
  int64_t width = 0;  // heads times their width
  bool causal = false;
  RowKind keys = RowKind::tokens, queries = RowKind::tokens;
  int64_t seen = 0;  // keys that each query sees; 0: all
  // Keys that a query of so many sees on average, where that is no share of all.
  std::function<double(int64_t length)> structure = {};
  double share = 1;  // rows for each token, as in Part
  int block = -1;    // as in Parameter
};

// Numbers that forward keeps for backward, of each row.
struct KeptCost {
  int64_t whole = 0;  // on every tensor-parallel rank, which sequence parallelism divides
  int64_t split = 0;  // divided by tensor-parallel ranks
  int64_t input = 0;  // of `whole`: what is left of a sublayer when it is recomputed
  RowKind rows = RowKind::tokens;
  double share = 1;
  int block = -1;
};

struct Costs {
  std::vector<ScoreCost> scores;
  std::vector<KeptCost> kept;
};

// How many learned numbers the whole tensors have: all, or those for which `counted` is true. A
// further use of a tensor has none, nor has a constant one.
int64_t learned_numbers(const Parameters& parameters,
                        const std::function<bool(const Parameter&)>& counted = {});

// How many rows of a kind there are for each token of a sample.
struct RowsPerToken {
  double places = 1;
  double samples = 0;  // 0: what is done once a sample is not counted
  double source_tokens = 0;
};

// How far backward goes: through all but the frozen blocks before the first part that learns.
class BackwardReach {
 public:
  explicit BackwardReach(const Parameters& parameters);
  // block: its number; -1: what no block holds, with the input of a head.
  bool reaches(int block) const { return block < 0 ? any_ : block >= first_; }
  // How much of attention's forward and backward is done in the block.
  double share_of_scores(int block) const { return reaches(block) ? 1 : 1.0 / 3; }

 private:
  bool any_ = false;
  int first_;
};

// Floating-point operations of forward and backward for one token of a sample of `length`, by
// number of block, -1 for what is outside of blocks; recomputation not counted:
//   6 · weights · rows a token + 12 · width · queries a token · keys a query
// A third of that is forward, and of weights another one their gradients, which frozen ones have
// not; the rest is left out where backward does not come (BackwardReach).
// A query of causal attention counts `causal` of all keys: half are needed (Megatron-LM, llm.c),
// all are counted by PaLM's appendix B and torchtitan. Where attention has a structure
// (SightSpec), what is seen counts.
std::map<int, double> flops_per_token(const Parameters& parameters, int64_t length,
                                      const RowsPerToken& rows = {}, double causal = 0.5);
// What one entry of attention adds to that, where backward comes.
double score_flops(const ScoreCost& cost, int64_t length, const RowsPerToken& rows = {},
                   double causal = 0.5);

struct KeptShape {
  int64_t tokens = 0;        // of a micro-batch
  double source_tokens = 0;  // for each token
  bool sequence = false;     // parallel
  Recompute recompute = Recompute::none;
  double in_flight = 1;  // micro-batches whose backward is to come
};

// Bytes that the described blocks keep on a rank, for the number of tensor-parallel ranks and the
// type that `parameters` has; those that backward does not reach keep nothing. Of blocks that are
// recomputed these are their inputs, or those of their sublayers, and all that the largest block
// keeps, since one block is at work at a time.
double kept_bytes(const Parameters& parameters, const KeptShape& shape);

}  // namespace skein
