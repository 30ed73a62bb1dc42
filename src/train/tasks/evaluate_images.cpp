#include "skein/train/tasks/evaluate_images.h"

#include <algorithm>
#include <cmath>

#include "skein/checkpoint/parameters.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"
#include "skein/parallel/local_model.h"
#include "skein/train/tasks/image_scores.h"
#include "skein/train/tasks/image_task.h"

namespace skein::train {
namespace {

constexpr int64_t kMostShown = 20;

data::ImageSamples samples_of(const std::vector<std::string>& stores, const TrainedModel& source,
                              const LabelHead& head) {
  data::PictureForm form = source.model.architecture->picture_form(source.model);
  metric_of(head.kind, head.metric);
  const auto usable = [](double deviation) { return std::isfinite(deviation) && deviation > 0; };
  require(head.kind == LabelKind::classify && std::ranges::all_of(head.picture_deviation, usable) &&
              std::ranges::all_of(head.picture_mean, [](double one) { return std::isfinite(one); }),
          "the notes of {} are damaged: they do not say how pictures are read", source.info.path);
  require(std::ssize(head.picture_mean) == form.channels &&
              std::ssize(head.picture_deviation) == form.channels &&
              head.outputs() == source.model.labels,
          "the notes of {} do not fit its model: {} means, {} deviations and {} labels for {} "
          "channels and {} outputs",
          source.info.path, head.picture_mean.size(), head.picture_deviation.size(), head.outputs(),
          form.channels, source.model.labels);
  data::ImageBlend blend = open_images(stores, head.labels);
  const data::ImageRecords& first = blend.parts.front();
  require(first.channels() == form.channels && first.height() == form.height &&
              first.width() == form.width,
          "{} has pictures of {} x {} x {} (channels, height, width), but {} reads {} x {} x {}; "
          "make it again with that size",
          first.records().name(), first.channels(), first.height(), first.width(), source.info.path,
          form.channels, form.height, form.width);
  form.mean = head.picture_mean;
  form.deviation = head.picture_deviation;
  return {std::move(blend), form, {}, 0, data::ImageOrder::once};
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

bool labels_images(const TrainedModel& source) {
  const auto head = label_head(source.state.notes, source.info.path);
  return head && head->reads_images() && source.model.architecture->reads_images();
}

NamedValues evaluate_images(const std::vector<std::string>& stores, const TrainedModel& source,
                            const ParallelConfig& parallel, int64_t batch, Group& world) {
  const LabelHead head = *label_head(source.state.notes, source.info.path);
  const data::ImageSamples samples = samples_of(stores, source, head);
  Mesh mesh(world, mesh_shape(parallel, world.size()));
  LocalModel local(source.model, parallel, mesh, DType::f32);
  load_weights(source.info, local.parameters(), mesh.world());
  Pipeline pipeline(mesh, local.pipeline_model(), parallel.schedule);
  const LabelAnswers answers =
      image_answers({pipeline, local.pass(), mesh, batch}, samples, head.outputs());
  Scores scores = image_scores(head, samples, answers);
  log::info("{}: {}", source.info.path, scores.text);
  tell_confusions(head, samples, answers);
  scores.values.emplace_back("samples", samples.samples_per_epoch());
  return scores.values;
}

}  // namespace skein::train
