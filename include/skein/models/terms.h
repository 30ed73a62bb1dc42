// Objectives for any model with such a head, and sums of them.
#pragma once

#include <memory>
#include <vector>

#include "skein/models/model.h"

namespace skein {

// Several objectives, its terms, as one: their losses end to end, and their answers in order.
class SumOfTerms : public Objective {
 public:
  // There is at least one. A term for which a batch has nothing gives losses without rows, and no
  // answers; what has nothing for one batch of a run has nothing for all of them.
  explicit SumOfTerms(std::vector<std::unique_ptr<Objective>> terms) : terms_(std::move(terms)) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  std::vector<std::unique_ptr<Objective>> terms_;
};

// Cross entropy of the batch's targets over the vocabulary, at all places whose weight is not 0.
// Answers: the likeliest ids [B,P].
// label_smoothing: what training spreads of each target evenly over all ids (kernels::Smoothing).
// Where it is not 0 there is a second term in training, the loss without smoothing, which is only
// told: its rows have no weight. Elsewhere the loss is that one alone.
class TokenTerm : public Objective {
 public:
  explicit TokenTerm(const Predictor& predictor, double label_smoothing = 0)
      : predictor_(predictor), label_smoothing_(label_smoothing) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  Var rows(const Var& output, const LossPass& pass, const Tensor& row_weights,
           const ops::RowExtras& extras) const;

  const Predictor& predictor_;
  double label_smoothing_;
};

// Cross entropy of batch.targets, or the squared error from batch.values where the batch has those
// (labels = 1), over all places whose weight is not 0. A place may have several targets, one after
// the other, each with its weight. Answers: the scores, [B,P,labels] f32.
// label_smoothing: as TokenTerm's, over all labels; only of targets.
class LabelTerm : public Objective {
 public:
  explicit LabelTerm(const Scorer& scorer, double label_smoothing = 0)
      : scorer_(scorer), label_smoothing_(label_smoothing) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  const Scorer& scorer_;
  double label_smoothing_;
};

}  // namespace skein
