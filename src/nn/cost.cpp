#include "skein/nn/cost.h"

#include <algorithm>
#include <limits>

#include "skein/nn/parameter.h"

namespace skein {
namespace {

double number(int64_t value) { return static_cast<double>(value); }

// share: as in Part.
double rows_per_token(RowKind kind, double share, const RowsPerToken& rows) {
  switch (kind) {
    case RowKind::none:
    case RowKind::looked_up: return 0;
    case RowKind::tokens: return share;
    case RowKind::source_tokens: return share * rows.source_tokens;
    case RowKind::places: return rows.places;
    case RowKind::samples: return rows.samples;
  }
  return 0;
}

// What one block keeps of a token, in numbers.
struct BlockMemory {
  double all = 0, sublayer_inputs = 0, input = 0;

  void add(const KeptCost& cost, double rows, double stream_ranks, double ranks) {
    all += rows * (number(cost.whole) / stream_ranks + number(cost.split) / ranks);
    const double own = rows * number(cost.input) / stream_ranks;
    if (sublayer_inputs == 0) input = own;
    sublayer_inputs += own;
  }
};

}  // namespace

int64_t learned_numbers(const Parameters& parameters,
                        const std::function<bool(const Parameter&)>& counted) {
  int64_t sum = 0;
  for (const Parameter& p : parameters.all())
    if (!p.tied() && !p.constant && (!counted || counted(p))) sum += p.shape.size();
  return sum;
}

double score_flops(const ScoreCost& cost, int64_t length, const RowsPerToken& rows, double causal) {
  const double width = 12 * number(cost.width);
  if (cost.structure) return width * cost.structure(length);
  const double all = rows_per_token(cost.keys, cost.share, rows) * number(length),
               keys = cost.seen ? number(cost.seen) : all;
  return (cost.causal ? causal : 1) * width * rows_per_token(cost.queries, cost.share, rows) * keys;
}

BackwardReach::BackwardReach(const Parameters& parameters)
    : first_(std::numeric_limits<int>::max()) {
  for (const Parameter& p : parameters.all()) {
    if (!p.learns) continue;
    switch (p.part.kind) {
      case Part::head:
      case Part::label_head:
      case Part::value_head:
      case Part::pooler: break;
      case Part::other:
      case Part::embedding:
      case Part::block: first_ = std::min(first_, p.part.block_number); [[fallthrough]];
      case Part::final_norm: any_ = true;
    }
  }
}

std::map<int, double> flops_per_token(const Parameters& parameters, int64_t length,
                                      const RowsPerToken& rows, double causal) {
  std::map<int, double> made;
  const BackwardReach reach(parameters);
  for (const Parameter& p : parameters.all()) {
    const int products = 1 + (p.learns ? 1 : 0) + (reach.reaches(p.part.block_number) ? 1 : 0);
    made[p.part.block_number] +=
        2 * products * rows_per_token(p.meets, p.part.rows, rows) * number(p.shape.size());
  }
  for (const ScoreCost& cost : parameters.costs().scores)
    made[cost.block] += reach.share_of_scores(cost.block) * score_flops(cost, length, rows, causal);
  return made;
}

double kept_bytes(const Parameters& parameters, const KeptShape& shape) {
  const RowsPerToken rows{0, 0, shape.source_tokens};
  const double ranks = parameters.shards(), stream_ranks = shape.sequence ? ranks : 1;
  std::map<int, BlockMemory> blocks;
  const BackwardReach reach(parameters);
  for (const KeptCost& cost : parameters.costs().kept)
    if (cost.block < 0 || reach.reaches(cost.block))
      blocks[cost.block].add(cost, rows_per_token(cost.rows, cost.share, rows), stream_ranks,
                             ranks);
  double sum = 0, largest = 0;
  for (const auto& [block, kept] : blocks) {
    largest = std::max(largest, kept.all);
    switch (shape.recompute) {
      case Recompute::none: sum += kept.all; break;
      case Recompute::selective: sum += kept.sublayer_inputs; break;
      case Recompute::full: sum += kept.input; break;
    }
  }
  sum *= shape.in_flight;
  if (shape.recompute != Recompute::none) sum += largest;
  return sum * number(shape.tokens) * number(size_of(parameters.dtype()));
}

}  // namespace skein
