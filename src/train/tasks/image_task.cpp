#include "skein/train/tasks/image_task.h"

#include <algorithm>
#include <optional>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"
#include "skein/models/resized_pictures.h"
#include "skein/train/tasks/adapting.h"
#include "skein/train/tasks/image_model.h"
#include "skein/train/tasks/image_scores.h"

#include "class_task.h"
#include "record_blend.h"

namespace skein::train {
namespace {

void check_like(const data::ImageRecords& one, const data::ImageRecords& first) {
  require(
      one.channels() == first.channels() && one.height() == first.height() &&
          one.width() == first.width(),
      "{} has pictures of {} x {} x {} (channels, height, width), but {} has {} x {} x {}; make "
      "one of them again with the other's size",
      one.records().name(), one.channels(), one.height(), one.width(), first.records().name(),
      first.channels(), first.height(), first.width());
}

void check_labelled(const data::ImageRecords& one, const std::vector<std::string>& classes,
                    const std::string& whose) {
  require(!one.classes().empty(),
          "{} has no labels; make it with them (`skein-data images` without images.labelled=false)",
          one.records().name());
  require(one.classes() == classes,
          "{} has the classes {}, but {} has {}; make the store again with images.classes",
          one.records().name(), listed(one.classes()), whose, listed(classes));
}

data::PictureForm form_of(const PretrainConfig& run, const LabelHead& head) {
  data::PictureForm made = run.model.architecture->picture_form(run.model);
  made.mean = head.picture_mean;
  made.deviation = head.picture_deviation;
  return made;
}

// What a run learns from and is judged by.
struct ImageData {
  data::ImageBlend learnt, known;
  LabelHead head;
};

class ImageTask : public ClassTask<data::ImageSamples> {
 public:
  ImageTask(const PretrainConfig& run, ImageData data, const data::AugmentConfig& augment,
            bool adapts);

  int64_t length() const override { return training_->form().tokens(); }
  Scores validate(const EvaluatedModel& model) const override;
  void check_notes(const TaskNotes& notes, const std::string& origin) const override;
  Tensor refitted(const Part& part, const Tensor& stored) const override;
  // The model to begin from reads pictures of this form.
  void begin_from(const data::PictureForm& form) { before_ = form; }

 private:
  uint32_t checksum() const override { return checksum_of(training_->blend()); }
  bool says_patches() const { return training_->form().hidden > 0; }
  void draw(const EvaluatedModel& model) const;

  std::string folder_;  // of the run
  std::optional<data::PictureForm> before_;
};

ImageTask::ImageTask(const PretrainConfig& run, ImageData data, const data::AugmentConfig& augment,
                     bool adapts)
    : ClassTask(run.loss, std::move(data.head), adapts), folder_(run.run.dir) {
  auto& [learnt, known, head] = data;
  const data::PictureForm form = form_of(run, head_);
  files_ = files_of("data.train", learnt);
  std::ranges::move(files_of("data.validation", known), std::back_inserter(files_));
  training_ = std::make_unique<data::ImageSamples>(std::move(learnt), form, augment, run.train.seed,
                                                   data::training_order(run.data.shuffle));
  if (known.parts.empty()) return;
  validation_ = std::make_unique<data::ImageSamples>(std::move(known), form, data::AugmentConfig{},
                                                     kJudgedSeed, data::OrderKind::once);
}

Scores ImageTask::validate(const EvaluatedModel& model) const {
  if (!says_patches())
    return image_scores(head_, *validation_, image_answers(model, *validation_, head_.outputs()));
  draw(model);
  return hidden_patch_scores(model, *validation_);
}

// A sheet that cannot be written ends no run.
void ImageTask::draw(const EvaluatedModel& model) const {
  const std::string sheet = rebuilt_sheet(model, *validation_);
  if (folder_.empty() || model.mesh.world().rank() > 0) return;
  const std::string path = folder_ + "/rebuilt.png";
  try {
    replace_file(path, sheet);
  } catch (const Error& error) {
    log::warn("{} is not written: {}", path, error.what());
  }
}

void ImageTask::check_notes(const TaskNotes& notes, const std::string& origin) const {
  const auto stored = label_head(notes, origin);
  require_run_of("training on pictures", stored && stored->reads_images(), origin);
  require(stored->labels.empty() == head_.labels.empty(),
          "{} learns {}, and this run learns {}; give another run.dir to begin anew", origin,
          stored->labels.empty() ? "hidden patches" : "classes",
          head_.labels.empty() ? "hidden patches" : "classes");
  require(stored->labels == head_.labels,
          "{} learns the classes {}, but data.train has {}; give another run.dir to begin anew",
          origin, listed(stored->labels), listed(head_.labels));
  require(stored->picture_mean == head_.picture_mean &&
              stored->picture_deviation == head_.picture_deviation,
          "{} reads pictures in units of mean {} and deviation {}, but those of data.train have {} "
          "and {}; give the same pictures, or another run.dir to begin anew",
          origin, fmt::join(stored->picture_mean, ", "), fmt::join(stored->picture_deviation, ", "),
          fmt::join(head_.picture_mean, ", "), fmt::join(head_.picture_deviation, ", "));
  if (checksum_in(notes) != checksum()) warn_of_other_samples(origin);
}

// Of a model whose pictures have another size, the positions.
Tensor ImageTask::refitted(const Part& part, const Tensor& stored) const {
  if (!before_ || part.kind != Part::embedding) return {};
  const std::vector<float> made =
      resized_positions(stored.span<float>(), *before_, training_->form());
  const int64_t width = stored.dim(1);
  return Tensor::from(made, {std::ssize(made) / width, width});
}

}  // namespace

data::ImageBlend open_images(const std::vector<std::string>& entries) {
  data::ImageBlend made;
  for (const std::string& text : entries) {
    add_store(text, made);
    check_like(made.parts.back(), made.parts.front());
  }
  return made;
}

void check_classes(const data::ImageBlend& blend, const std::vector<std::string>& classes,
                   const std::string& whose) {
  for (const data::ImageRecords& part : blend.parts) check_labelled(part, classes, whose);
}

namespace {

ImageData opened(const PretrainConfig& run, const data::AugmentConfig& augment) {
  check(augment);
  const data::DataConfig& files = run.data;
  require(!files.train.empty(),
          "data.train names no store of pictures; make one with `skein-data images`");
  ImageData made{.learnt = open_images(files.train), .known = open_images(files.validation)};
  const data::ImageRecords& first = made.learnt.parts.front();
  if (!made.known.parts.empty()) check_like(made.known.parts.front(), first);
  made.head.picture_mean = first.meaning().mean;
  made.head.picture_deviation = first.meaning().deviation;
  return made;
}

// Names the classes.
void take_classes(ImageData& data) {
  const data::ImageRecords& first = data.learnt.parts.front();
  check_classes(data.learnt, first.classes(), first.records().name());
  LabelHead& head = data.head;
  head.labels = first.classes();
  require(head.outputs() > 1, "all pictures of data.train are of the class \"{}\"",
          head.labels.front());
  check_classes(data.known, head.labels, "data.train");
}

// The options of the run may say another size than the model to begin from has.
void take_size(PretrainConfig& run, const data::ImageRecords& store, const TrainedModel& source) {
  const Architecture& kind = *run.model.architecture;
  const data::PictureForm before = kind.picture_form(source.model),
                          now = kind.picture_form(run.model);
  if (before.height == now.height && before.width == now.width) {
    require(store.channels() != before.channels ||
                (store.height() == before.height && store.width() == before.width),
            "{} has pictures of {} x {} pixels (height, width), but {} reads {} x {}; make it "
            "again with that size, or give model.image_height={} and model.image_width={}, for "
            "which the model's positions are resized",
            store.records().name(), store.height(), store.width(), source.info.path, before.height,
            before.width, store.height(), store.width());
    return check_size(store, before, source.info.path);
  }
  check_size(store, now,
             fmt::format("the model with model.image_height={} and image_width={}", now.height,
                         now.width));
  run.model.context = ModelConfig{}.context;
  kind.take_pictures(run.model, now);
}

// Of the model to begin from and its classifier.
void take_positions(ImageTask& task, const ModelConfig& before, const ModelConfig& now) {
  const data::PictureForm from = before.architecture->picture_form(before),
                          to = now.architecture->picture_form(now);
  if (from.height == to.height && from.width == to.width) return;
  check_resized(before, now);
  log::info("{}", told_resizing(from, to, now.positions));
  task.begin_from(from);
}

// Those of a model to begin from.
void take_units(ImageData& data, const TrainedModel& source, const ModelConfig& model) {
  const auto before = label_head(source.state.notes, source.info.path);
  if (!before || !before->reads_images()) {
    log::warn("{} does not say in which units it reads pictures; those of {} are taken",
              source.info.path, data.learnt.parts.front().records().name());
    return;
  }
  const data::PictureForm form = form_in(source, *before);
  data.head.picture_mean = form.mean;
  data.head.picture_deviation = form.deviation;
  const data::PictureForm now = model.architecture->picture_form(model);
  data::Fitting& how = data.head.fitting;
  how = scaled(before->fitting, {form.height, form.width}, {now.height, now.width});
  require(how.width <= data::kMostFittedPixels / std::max<int64_t>(1, how.height),
          "{} reads the middle of pictures, which of {} x {} pixels is that of {} x {}; {} pixels "
          "are the most",
          source.info.path, now.height, now.width, how.height, how.width, data::kMostFittedPixels);
  if (how != data::Fitting{})
    log::info("{} reads files of pictures by {}, which stores for it should be made with, too",
              source.info.path, told(how));
}

}  // namespace

std::unique_ptr<Task> image_task(PretrainConfig& run, const data::AugmentConfig& augment) {
  ImageData data = opened(run, augment);
  const data::ImageRecords& first = data.learnt.parts.front();
  const Architecture& kind = *run.model.architecture;
  kind.take_pictures(
      run.model, {.channels = first.channels(), .height = first.height(), .width = first.width()});
  if (run.lr.decay == LrConfig::Decay::automatic) run.lr.decay = LrConfig::Decay::cosine;
  if (kind.picture_form(run.model).hidden > 0) {
    require(run.loss.label_smoothing == 0,
            "loss.label_smoothing={} is for classes and tokens, but model.architecture={} learns "
            "hidden patches; leave it out",
            run.loss.label_smoothing, kind.name());
    return std::make_unique<ImageTask>(run, std::move(data), augment, false);
  }
  take_classes(data);
  const int64_t classes = data.head.outputs();
  require(
      run.model.head != Head::token && (run.model.labels == 0 || run.model.labels == classes),
      "model.labels={} (model.head), but the pictures have {} classes, one each; leave both out",
      run.model.labels, classes);
  kind.begin_labels(run.model, Head::sequence, classes);
  return std::make_unique<ImageTask>(run, std::move(data), augment, false);
}

std::unique_ptr<Task> finetuned_image_task(FinetuneConfig& config, const TrainedModel& source) {
  PretrainConfig& run = config.run;
  ImageData data = opened(run, config.augment);
  take_classes(data);
  take_size(run, data.learnt.parts.front(), source);
  take_units(data, source, run.model);
  data.head.metric = config.task.metric;
  const auto begin_labels = [&](ModelConfig& model) {
    model.architecture->begin_labels(model, Head::sequence, data.head.outputs());
  };
  begin_labels(run.model);
  ModelConfig before = source.model;
  begin_labels(before);
  auto made = std::make_unique<ImageTask>(run, std::move(data), config.augment, true);
  take_positions(*made, before, run.model);
  fill_in_finetuning(run, config.task.epochs, made->samples().samples_per_epoch());
  return made;
}

void refuse_augmentation(const Options& options, const Architecture& architecture) {
  refuse_options_of<data::AugmentConfig>(
      options, fmt::format("is for pictures, but model.architecture={} reads {}; leave it out",
                           architecture.name(), name_of(architecture.reads())));
}

}  // namespace skein::train
