#include "skein/models/flops.h"

#include <cmath>

#include "skein/models/architecture.h"
#include "skein/models/description.h"
#include "skein/nn/cost.h"

namespace skein {

namespace {

double share_of(AttentionCount count) { return count == AttentionCount::half ? 0.5 : 1; }

struct Described {
  Parameters all{DType::f32, 0, 1};

  explicit Described(const ModelConfig& model) { describe(model, whole_piece(model), all); }
};

}  // namespace

std::map<int, double> flops_by_block(const ModelConfig& model, int64_t length,
                                     AttentionCount count) {
  return flops_per_token(Described(model).all, length, model.architecture->rows_per_token(model),
                         share_of(count));
}

// With r tokens of a source for each of T tokens they are a + b T + r (c + d r T + e T), but for
// attention that has a structure.
TokenFlops::TokenFlops(const ModelConfig& model, AttentionCount count, int64_t frozen) {
  RowsPerToken rows = model.architecture->rows_per_token(model);
  const bool reads_source = rows.source_tokens > 0;
  Described described(model);
  described.all.freeze(
      [&](const Parameter& p) { return is_frozen(p.part, frozen, model.n_layers); });
  const BackwardReach reach(described.all);
  for (const ScoreCost& cost : described.all.costs().scores)
    if (cost.structure) structures_.push_back({cost, reach.share_of_scores(cost.block)});
  const auto of = [&](int64_t length, double source_tokens) {
    rows.source_tokens = source_tokens;
    double sum = -structured(length);
    for (const auto& [block, own] : flops_per_token(described.all, length, rows, share_of(count)))
      sum += own;
    return sum;
  };
  products_ = of(0, 0);
  scores_ = of(1, 0) - products_;
  if (!reads_source) return;
  source_products_ = of(0, 1) - products_;
  const double once = of(1, 1) - products_ - scores_ - source_products_,
               twice = of(1, 2) - products_ - scores_ - 2 * source_products_;
  source_scores_ = (twice - 2 * once) / 2;
  cross_scores_ = once - source_scores_;
}

double TokenFlops::structured(int64_t length) const {
  if (structures_.empty()) return 0;
  const auto [known, is_new] = known_.try_emplace(length, 0.0);
  if (is_new)
    for (const auto& [cost, share] : structures_)
      known->second += share * score_flops(cost, length);
  return known->second;
}

double TokenFlops::operator()(int64_t length, int64_t source_length) const {
  const auto tokens = static_cast<double>(length), source = static_cast<double>(source_length);
  const double own = products_ + scores_ * tokens + structured(length);
  if (source_length == 0) return own;
  return own + source / tokens * (source_products_ + source_scores_ * source) +
         cross_scores_ * source;
}

double model_flops_per_token(const ModelConfig& model, int64_t length, AttentionCount count,
                             int64_t frozen) {
  const double rows = model.architecture->rows_per_token(model).source_tokens;
  return TokenFlops(model, count, frozen)(
      length, static_cast<int64_t>(std::llround(rows * static_cast<double>(length))));
}

}  // namespace skein
