#include "skein/train/tasks/image_model.h"

#include <algorithm>
#include <cmath>

#include "skein/checkpoint/parameters.h"
#include "skein/core/error.h"
#include "skein/models/architecture.h"

namespace skein::train {
namespace {

LabelHead picture_head_in(const TrainedModel& source) {
  const auto head = label_head(source.state.notes, source.info.path);
  require(head && head->reads_images(),
          "the notes of {} do not say in which units it reads pictures, or what its classes are "
          "called; an import takes them from preprocessor_config.json and \"id2label\"",
          source.info.path);
  return *head;
}

}  // namespace

data::PictureForm form_in(const TrainedModel& source, const LabelHead& head) {
  data::PictureForm form = source.model.architecture->picture_form(source.model);
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
  const data::Fitting& how = head.fitting;
  require(how.height == 0 || (how.height >= form.height && how.width >= form.width &&
                              how.width <= data::kMostFittedPixels / how.height),
          "the notes of {} are damaged: they cut pictures of {} x {} pixels out of {} x {}",
          source.info.path, form.height, form.width, how.height, how.width);
  form.mean = head.picture_mean;
  form.deviation = head.picture_deviation;
  return form;
}

namespace {

// What reads pictures whole: of one that says hidden patches, its encoder, with a classifier that
// nobody asks.
ModelConfig reader_of(const ModelConfig& model, bool whole) {
  ModelConfig made = model;
  if (whole && model.architecture->picture_form(model).hidden > 0)
    model.architecture->begin_labels(made, Head::sequence, 1);
  return made;
}

// Those of an encoder without its classifier.
void load_encoder(const checkpoint::CheckpointInfo& from, Parameters& parameters, Group& world) {
  parameters.allocate(false);
  std::vector<checkpoint::Piece> pieces;
  for (const Parameter& one : parameters.all())
    if (one.part.kind != Part::label_head)
      pieces.push_back(checkpoint::piece_of("param", one, 0, one.value.flat(0, one.valid_size())));
  load_checkpoint(from, pieces, false, world);
  parameters.values_changed();
}

}  // namespace

ImageModel::ImageModel(const TrainedModel& source, const ParallelConfig& parallel, DType dtype,
                       int64_t batch, Group& world, const MakeObjective& objective)
    : head_(picture_head_in(source)),
      form_(form_in(source, head_)),
      model_(reader_of(source.model, objective != nullptr), parallel, dtype, world, objective),
      batch_(batch) {
  if (objective && form_.hidden > 0) {
    form_.hidden = 0;
    load_encoder(source.info, model_.parameters(), world);
  } else {
    load_weights(source.info, model_.parameters(), world);
  }
}

LabelAnswers ImageModel::answers(const data::SampleSource& samples, int64_t count,
                                 int64_t outputs) {
  return label_answers(evaluated(), samples, count, 1, outputs);
}

}  // namespace skein::train
