#include "skein/train/evaluations/evaluate_labels.h"

#include "skein/core/log.h"
#include "skein/train/tasks/label_model.h"

namespace skein::train {

void bind(Options& options, LabelEvalConfig& c) {
  options.add("data.test", c.files,
              "files of examples to evaluate a fine-tuned model on, of pairs for one that reads "
              "sources, of preferences for a reward model, or of conversations for a decoder");
  bind(options, c.columns);
}

NamedValues evaluate_labels(const LabelEvalConfig& config, Options& options,
                            const TrainedModel& source, const ParallelConfig& parallel,
                            int64_t batch, Group& world) {
  LabelModel model(source, parallel, DType::f32, batch, world);
  model.settle_columns(options, config.columns, source.info.path);
  const LabelData data = read_labelled(model.head(), model.form(), config.columns, config.files);
  if (data.cut > 0)
    log::warn(
        "{} of {} samples are longer than the {} tokens the model was trained on and lose their "
        "ends",
        data.cut, data.size(), model.head().length);
  const Scores scores = score(model.head(), data, model.answers(data));
  log::info("{}: {}", source.info.path, scores.text);
  auto values = scores.values;
  values.emplace_back("samples", data.size());
  return values;
}

}  // namespace skein::train
