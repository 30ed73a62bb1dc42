#include "skein/train/evaluations/evaluate_images.h"

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/train/tasks/image_model.h"
#include "skein/train/tasks/image_scores.h"
#include "skein/train/tasks/image_task.h"

namespace skein::train {
namespace {

constexpr int64_t kMostShown = 20;

data::ImageSamples samples_of(const std::vector<std::string>& stores, const ImageModel& model,
                              const std::string& origin) {
  data::ImageBlend blend = open_images(stores);
  if (model.form().hidden == 0) check_classes(blend, model.head().labels, origin);
  check_size(blend.parts.front(), model.form(), origin);
  return {std::move(blend), model.form(), {}, kJudgedSeed, data::OrderKind::once};
}

// A row a class, a column what was said.
void tell_confusions(const LabelHead& head, const data::ImageSamples& samples,
                     const LabelAnswers& answers) {
  const int64_t classes = head.outputs();
  if (classes > kMostShown) return;
  const auto counts = confusions(samples, answers, classes);
  std::string columns;
  for (const std::string& name : head.labels) columns += fmt::format(" {:>6.6}", name);
  log::info("{:>12.12}{}", "true \\ said", columns);
  for (int64_t row = 0; row < classes; ++row) {
    std::string line;
    for (const int64_t count : counts[row]) line += fmt::format(" {:>6}", count);
    log::info("{:>12.12}{}", head.labels[row], line);
  }
}

}  // namespace

namespace {

Scores scores_of_classes(ImageModel& model, const data::ImageSamples& samples) {
  const LabelHead& head = model.head();
  metric_of(head.kind, head.metric);
  const LabelAnswers answers = model.answers(samples, samples.samples_per_epoch(), head.outputs());
  tell_confusions(head, samples, answers);
  return image_scores(head, samples, answers);
}

}  // namespace

NamedValues evaluate_images(const std::vector<std::string>& stores, const TrainedModel& source,
                            const ParallelConfig& parallel, int64_t batch, Group& world) {
  ImageModel model(source, parallel, DType::f32, batch, world);
  const data::ImageSamples samples = samples_of(stores, model, source.info.path);
  Scores scores = model.form().hidden > 0 ? hidden_patch_scores(model.evaluated(), samples)
                                          : scores_of_classes(model, samples);
  log::info("{}: {}", source.info.path, scores.text);
  scores.values.emplace_back("samples", samples.samples_per_epoch());
  return scores.values;
}

}  // namespace skein::train
