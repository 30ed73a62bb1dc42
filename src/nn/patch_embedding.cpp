#include "skein/nn/patch_embedding.h"

#include <cmath>

#include "skein/core/error.h"
#include "skein/core/where.h"
#include "skein/nn/stack.h"
#include "skein/ops/embedding.h"
#include "skein/ops/math.h"

namespace skein {
namespace {

// Sines, then cosines, of `place` at C/4 wavelengths.
void add_waves(int64_t place, int64_t width, std::vector<double>& to) {
  const auto angle = [&](int64_t i) {
    return static_cast<double>(place) *
           std::pow(10000.0, -4 * static_cast<double>(i) / static_cast<double>(width));
  };
  for (int64_t i = 0; i < width / 4; ++i) to.push_back(std::sin(angle(i)));
  for (int64_t i = 0; i < width / 4; ++i) to.push_back(std::cos(angle(i)));
}

ParameterSpec positions_of(const PatchEmbeddingSpec& spec) {
  ParameterSpec made{.name = "embedding.positions.weight",
                     .shape = {spec.tokens(), spec.width},
                     .start = {Start::normal, spec.deviation}};
  if (spec.positions == Positions::learned) return made;
  // Not made here: whoever describes a model takes no memory for it.
  made.start = {Start::given, 0, [spec] {
                  return grid_waves(spec.rows, spec.columns, spec.width, spec.class_token);
                }};
  made.constant = true;
  return made;
}

}  // namespace

std::vector<double> grid_waves(int64_t rows, int64_t columns, int64_t width, bool class_token) {
  SKEIN_CHECK_EQ(width % 4, 0);
  std::vector<double> made;
  if (class_token) made.resize(width);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      add_waves(column, width, made);
      add_waves(row, width, made);
    }
  return made;
}

PatchEmbedding::PatchEmbedding(Parameters& parameters, const PatchEmbeddingSpec& spec, int chunk)
    : spec_(spec), dtype_(parameters.dtype()) {
  const auto enter = [&](const char* bucket) {
    parameters.enter(bucket, chunk, {Part::embedding});
  };
  enter("embedding.patches");
  // By its fan-in: pixels are not as many as the numbers of hidden states.
  patches_.emplace(parameters,
                   LinearSpec{.name = "embedding.patches",
                              .inputs = spec.numbers,
                              .outputs = spec.width,
                              .deviation = 1 / std::sqrt(static_cast<double>(spec.numbers))});
  if (spec.class_token)
    class_ = parameters.add({.name = "embedding.class",
                             .shape = {1, spec.width},
                             .start = {Start::normal, spec.deviation}});
  if (spec.positions != Positions::distance) {
    enter("embedding.positions");
    positions_ = &parameters.add(positions_of(spec));
  }
  if (!spec.norm) return;
  enter("embedding.rest");
  NormSpec norm = *spec.norm;
  norm.name = "embedding.norm";
  norm_.emplace(parameters, norm);
}

Var PatchEmbedding::operator()(const Pass& pass) const {
  const WhereScope here = WhereScope::part("embedding");
  const data::Batch& batch = *pass.batch;
  require(batch.features.defined(), "this model reads pictures, but was given texts");
  SKEIN_CHECK_EQ(batch.features.dim(2), spec_.numbers);
  const Pass whole = pass.whole();
  Var x = (*patches_)(Var(ops::converted(batch.features, dtype_)), whole);
  if (spec_.class_token) x = ops::prepend(class_, x);
  if (positions_) x = ops::add(x, ops::embedding(batch.positions, positions_->weight(), 0));
  if (norm_) x = (*norm_)(x);
  return residual_dropout(x, whole, spec_.dropout, -1, 0);
}

}  // namespace skein
