#include "skein/models/flops.h"

#include <cmath>

#include "skein/models/architecture.h"
#include "skein/models/description.h"
#include "skein/nn/cost.h"

namespace skein {

namespace {

std::map<int, double> by_block(const ModelConfig& model, int64_t length, AttentionCount count,
                               const RowsPerToken& rows) {
  Parameters all(DType::f32, 0, 1);
  describe(model, whole_piece(model), all);
  return flops_per_token(all, length, rows, count == AttentionCount::half ? 0.5 : 1);
}

}  // namespace

std::map<int, double> flops_by_block(const ModelConfig& model, int64_t length,
                                     AttentionCount count) {
  return by_block(model, length, count, model.architecture->rows_per_token(model));
}

// With r tokens of a source for each of T tokens they are a + b T + r (c + d r T + e T).
TokenFlops::TokenFlops(const ModelConfig& model, AttentionCount count) {
  RowsPerToken rows = model.architecture->rows_per_token(model);
  const bool reads_source = rows.source_tokens > 0;
  const auto of = [&](int64_t length, double source_tokens) {
    rows.source_tokens = source_tokens;
    double sum = 0;
    for (const auto& [block, own] : by_block(model, length, count, rows)) sum += own;
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

double TokenFlops::operator()(int64_t length, int64_t source_length) const {
  const auto tokens = static_cast<double>(length), source = static_cast<double>(source_length);
  const double own = products_ + scores_ * tokens;
  if (source_length == 0) return own;
  return own + source / tokens * (source_products_ + source_scores_ * source) +
         cross_scores_ * source;
}

double model_flops_per_token(const ModelConfig& model, int64_t length, AttentionCount count) {
  const double rows = model.architecture->rows_per_token(model).source_tokens;
  return TokenFlops(model, count)(
      length, static_cast<int64_t>(std::llround(rows * static_cast<double>(length))));
}

}  // namespace skein
