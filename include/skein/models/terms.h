// Objectives as sums of terms.
#pragma once

#include <memory>
#include <vector>

#include "skein/models/model.h"

namespace skein {

// Losses of one term, before weighting.
struct TermLosses {
  Var rows;            // [N] in the accumulator type; undefined where the batch has nothing for it
  Tensor row_weights;  // [N] of rows' type
  Tensor weights;      // [B,P] f32
};

class LossTerm {
 public:
  virtual ~LossTerm() = default;
  // output: the last piece's result.
  virtual TermLosses losses(const Var& output, const LossPass& pass) const = 0;
  // What the model answers, on the host; undefined where the batch has nothing for it. Collective
  // over pass.tp.
  virtual Tensor answers(const Var& output, const Pass& pass) const = 0;
};

class SumOfTerms : public Objective {
 public:
  // There is at least one. A term for which one batch of a run has nothing has nothing in all of
  // them.
  explicit SumOfTerms(std::vector<std::unique_ptr<LossTerm>> terms) : terms_(std::move(terms)) {}
  explicit SumOfTerms(std::unique_ptr<LossTerm> term) { terms_.push_back(std::move(term)); }
  Losses losses(const Var& output, const LossPass& pass) const override;
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  std::vector<std::unique_ptr<LossTerm>> terms_;
};

// Cross entropy of the batch's targets over the vocabulary, at all places whose weight is not 0.
// Answers: the likeliest ids [B,P].
class TokenTerm : public LossTerm {
 public:
  explicit TokenTerm(const Predictor& predictor) : predictor_(predictor) {}
  TermLosses losses(const Var& output, const LossPass& pass) const override;
  Tensor answers(const Var& output, const Pass& pass) const override;

 private:
  const Predictor& predictor_;
};

// Cross entropy of batch.targets, or the squared error from batch.values where the batch has those
// (labels = 1), over all places whose weight is not 0. Answers: the scores, [B,P,labels] f32.
class LabelTerm : public LossTerm {
 public:
  explicit LabelTerm(const Scorer& scorer) : scorer_(scorer) {}
  TermLosses losses(const Var& output, const LossPass& pass) const override;
  Tensor answers(const Var& output, const Pass& pass) const override;

 private:
  const Scorer& scorer_;
};

// Objectives of one term each: the mean over tokens, and the mean over labels.
std::unique_ptr<Objective> token_objective(const Predictor& predictor);
std::unique_ptr<Objective> label_objective(const Scorer& scorer);

}  // namespace skein
