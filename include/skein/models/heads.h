// What the last pieces of models can do, whatever their architecture.
#pragma once

#include "skein/nn/parameter.h"
#include "skein/nn/pass.h"
#include "skein/ops/loss.h"

namespace skein {

// Makes rows, and has the weight that turns them into logits over the vocabulary.
class Predictor {
 public:
  virtual ~Predictor() = default;
  // Makes rows [B*P,C], one for each place of the batch, of the last piece's result.
  virtual Var rows(const Var& output, const Pass& pass) const = 0;
  // The weight [V/t,C], and its bias [V/t] if there is one.
  virtual const Parameter& head() const = 0;
  virtual Weight head_bias() const { return {}; }

  // Columns of the logits that this rank holds.
  ops::VocabShard vocab_shard() const { return {head().first, head().valid}; }
  // [M,V/t] in the accumulator type, of rows [M,C]; not recorded.
  Tensor logits(const Tensor& rows) const;
};

// Gives a few numbers for a sequence or for a token: classes, tags, a grade.
class Scorer {
 public:
  virtual ~Scorer() = default;
  // [B,P,labels] at the batch's places, of the last piece's result.
  virtual Var label_scores(const Var& output, const Pass& pass) const = 0;
};

// Gives a number for each token beside its logits.
class ValueHead {
 public:
  virtual ~ValueHead() = default;
  // [B*P] at the batch's places, of the last piece's result.
  virtual Var values(const Var& output, const Pass& pass) const = 0;
};

}  // namespace skein
