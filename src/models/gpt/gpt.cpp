#include "skein/models/gpt/gpt.h"

#include "skein/core/where.h"
#include "skein/models/terms.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"

namespace skein {

Gpt::Gpt(const ModelConfig& config, const ModelPiece& piece, bool sequence_parallel,
         Parameters& parameters)
    : trunk_(config, piece, sequence_parallel, parameters),
      dropout_(config.dropout),
      output_scale_(1 / config.width_ratio()) {
  if (!piece.predicts) return;
  if (config.norm_placement != NormPlacement::post) {
    parameters.enter("final_norm", piece.chunk, {Part::final_norm});
    final_norm_.emplace(parameters, trunk_.norm_spec("final_norm"));
  }
  if (config.head != Head::vocabulary) {
    parameters.enter("head", piece.chunk, {Part::label_head});
    classifier_.emplace(parameters, head_layer(config, "classifier", config.labels,
                                               config.head_deviation(), RowKind::places, false));
    return;
  }
  head_ = &add_decoder(config, "head", piece.chunk, parameters);
  if (!config.own.get<GptOptions>().value_head) return;
  parameters.enter("value", piece.chunk, {Part::value_head});
  value_.emplace(parameters,
                 head_layer(config, "value", 1, config.head_deviation(), RowKind::places));
}

Var Gpt::features(const Var& hidden, const Pass& pass) const {
  const WhereScope here = WhereScope::part("head");
  const Var normed =
      normed_features(hidden, final_norm_ ? &*final_norm_ : nullptr, output_scale_, pass);
  return classifier_ ? all_positions(normed, pass) : feature_rows(normed, pass);
}

Var Gpt::rows(const Var& output, const Pass& pass) const {
  return rows_at_places(output, *pass.batch);
}

Var Gpt::values(const Var& output, const Pass& pass) const {
  SKEIN_CHECK(value_.has_value());
  const Var x = rows(counted_once(output, pass), pass);
  return ops::reshape((*value_)(ops::reshape(x, {1, x.shape()[0], x.shape()[1]}), pass.whole()),
                      {x.shape()[0]});
}

Flow Gpt::forward(const Flow& flow, const Pass& pass) const {
  const Var x = trunk_(flow, pass);
  return head_ || classifier_ ? features(x, trunk_.carried_out(pass)) : x;
}

Var Gpt::label_scores(const Var& output, const Pass& pass) const {
  const Pass whole = pass.whole();
  return (*classifier_)(
      residual_dropout(ops::take_places(output, *pass.batch), whole, dropout_, -1, 1), whole);
}

std::unique_ptr<Objective> Gpt::objective() const {
  if (head_) return std::make_unique<TokenTerm>(*this);
  if (classifier_) return std::make_unique<LabelTerm>(*this);
  return nullptr;
}

}  // namespace skein
