// A fine-tuned model that labels texts.
#pragma once

#include <string>

#include "skein/text/tokenizer.h"
#include "skein/train/tasks/label_scores.h"
#include "skein/train/trained_model.h"

namespace skein::train {

class LabelModel {
 public:
  // Collective. A usage error for a checkpoint without labels. batch: samples a forward pass.
  LabelModel(const TrainedModel& source, const ParallelConfig& parallel, DType dtype, int64_t batch,
             Group& world);

  const LabelHead& head() const { return head_; }
  const data::LabelForm& form() const { return form_; }
  // Options of `columns` that were not given take the values that they had in training. An imported
  // model judges pairs where the columns name a second text. A usage error for one that samples of
  // this model do not have.
  void settle_columns(Options& options, const LabelColumns& columns, const std::string& origin);
  // Collective. A usage error for a token that the model does not know.
  LabelAnswers answers(const LabelData& data);

 private:
  LabelHead head_;
  ModelConfig model_;
  text::StoredTokenizer tokenizer_;
  data::LabelForm form_;
  LoadedModel loaded_;
  int64_t batch_, multiple_;
};

}  // namespace skein::train
