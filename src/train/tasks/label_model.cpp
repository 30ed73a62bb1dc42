#include "skein/train/tasks/label_model.h"

#include "skein/core/error.h"
#include "skein/train/vocabulary.h"

namespace skein::train {
namespace {

LabelHead label_head_in(const TrainedModel& source) {
  const auto head = label_head(source.state.notes, source.info.path);
  require(head != nullptr,
          "{} was not fine-tuned on labels; `skein finetune` makes such a model of it",
          source.info.path);
  require_tokenizer(source);
  return *head;
}

}  // namespace

LabelModel::LabelModel(const TrainedModel& source, const ParallelConfig& parallel, DType dtype,
                       int64_t batch, Group& world)
    : head_(label_head_in(source)),
      model_(source.model),
      tokenizer_(source.state.tokenizer),
      form_(head_.form(model_, *tokenizer_)),
      loaded_(source, parallel, dtype, world),
      batch_(batch),
      multiple_(row_multiple(parallel)) {}

void LabelModel::settle_columns(Options& options, const LabelColumns& columns,
                                const std::string& origin) {
  for (const auto& [key, value] : head_.columns)
    if (!options.given(key)) options.set(key, value, origin);
  if (head_.imported() && head_.kind != LabelKind::tag) head_.pairs = !columns.pair.empty();
}

LabelAnswers LabelModel::answers(const LabelData& data) {
  for (const data::LabelledSample& sample : data.samples) check_ids(sample.form.tokens, model_);
  const bool types = form_.encoder() && head_.pairs && model_.token_types >= 2;
  const int64_t length = padded_length(data.samples, multiple_, model_.context);
  const auto source = data.source(form_, length, false, 0, head_.kind, types);
  return label_answers(loaded_.evaluated(batch_), *source, head_.outputs());
}

}  // namespace skein::train
