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

// Columns that the model's samples do not have.
void refuse_other_columns(const Options& options, const LabelHead& head,
                          const std::string& origin) {
  const auto refuse = [&](std::initializer_list<const char*> keys, const char* of,
                          const char* but) {
    for (const char* key : keys)
      require(!options.changed(key), "{} is for {}, but {} {}; leave it out", key, of, origin, but);
  };
  if (head.kind == LabelKind::tag)
    return refuse({"task.text", "task.pair", "task.label", "task.format", "task.header"},
                  "texts and pairs", "tags the words of CoNLL columns");
  refuse({"task.word_column", "task.tag_column"}, "tags of words", "labels texts or pairs");
  if (!head.imported() && !head.pairs)
    refuse({"task.pair"}, "pairs", "has learnt from single texts");
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
  refuse_other_columns(options, head_, origin);
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
