// Models of pictures learn their classes, to the same bits at every layout, and go on where they
// were.
#include "skein/train/tasks/image_task.h"

#include <cstring>
#include <gtest/gtest.h>

#include "skein/models/resized_pictures.h"
#include "skein/models/swin/swin.h"
#include "skein/models/vit/vit.h"

#include "support/expect_error.h"
#include "train/task_run.h"
#include "train/tasks/picture_stores.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::expect_error;

struct ImageConfig {
  PretrainConfig run;
  data::AugmentConfig augment;
};

class ImageTasks : public test::TaskRuns<ImageConfig> {
 protected:
  std::unique_ptr<Task> task(ImageConfig& c) const override { return image_task(c.run, c.augment); }

  ImageConfig small() const {
    ImageConfig c;
    c.run.model.architecture = &vit_architecture();
    picture_options(c.run.model).patch_height = 4;
    c.run.model.d_model = 32;
    c.run.model.n_layers = 2;
    c.run.model.n_heads = 2;
    c.run.model.init_std = 0.1;
    c.run.train.steps = 6;
    c.run.train.global_batch = 16;
    c.run.lr.lr = 3e-3;
    c.run.lr.warmup = 2;
    c.run.validation.every = 0;
    c.run.run.log_every = 1000;
    c.run.run.tensorboard = false;
    c.run.checkpoint.async = true;
    c.run.data.train = c.run.data.validation = {store_};
    return c;
  }

  // A grid of 4 x 4 in windows of 3, then one of 2 x 2.
  ImageConfig small_swin() const {
    ImageConfig c = small();
    c.run.model.architecture = &swin_architecture();
    c.run.model.positions = Positions::distance;
    c.run.model.d_model = 16;
    c.run.model.embedding_norm = true;
    c.run.model.stochastic_depth = 0.2;
    picture_options(c.run.model).patch_height = 2;
    swin_options(c.run.model) = {.depths = {2, 2}, .window_side = 3};
    c.run.model.n_layers = 4;
    return c;
  }

  // A run in the folder `name` that goes on from the weights of `from`, with pictures of this side;
  // fitting: that of `from`.
  TrainResult finetuned(const std::string& from, const std::string& name, const std::string& store,
                        int64_t side, int ranks = 1, const data::Fitting& fitting = {}) const {
    TrainResult result;
    run_ranks(ranks, [&](Group& world) {
      TrainedModel source = open_trained_model(folder_.file(from), 0, world);
      auto head = label_head(source.state.notes, from);
      head->fitting = fitting;
      source.state.notes = to_notes(*head, 0);
      FinetuneConfig c = finetune_defaults();
      c.run.model = source.model;
      c.run.model.dropout = 0;
      picture_options(c.run.model).image_height = picture_options(c.run.model).image_width = side;
      c.run.data.train = c.run.data.validation = {store};
      c.run.train.steps = 4;
      c.run.train.global_batch = 16;
      c.run.parallel.reduction_groups = 4;
      c.run.parallel.pipeline = ranks > 2 ? 2 : 1;
      c.run.run.dir = folder_.file(name);
      c.run.run.tensorboard = false;
      const auto made = finetuned_image_task(c, source);
      const TrainResult own = train(c.run, *made, world, "", source.info);
      if (world.rank() == 0) result = own;
    });
    return result;
  }
  std::vector<float> tensor(const std::string& run, const std::string& name) const {
    const std::vector<std::byte> bytes = state_of(folder_.file(run)).at("param/" + name);
    std::vector<float> made(bytes.size() / sizeof(float));
    std::memcpy(made.data(), bytes.data(), bytes.size());
    return made;
  }

  const std::string store_ = write_pictures(folder_.file("pictures.h5"));
};

data::AugmentConfig everything() {
  data::AugmentConfig made;
  made.crop = 0.6;
  made.rotate = 10;
  made.erase = 0.3;
  made.mixup = 0.5;
  made.cutmix = 0.5;
  return made;
}

TEST_F(ImageTasks, ClassesAreLearnt) {
  for (const bool class_token : {true, false}) {
    ImageConfig c = small();
    vit_options(c.run.model).class_token = class_token;
    if (!class_token) vit_options(c.run.model).pool = Pool::mean;
    if (!class_token) c.run.model.positions = Positions::sinusoidal;
    c.run.train.steps = 120;
    const Scores scores = run(c).validation;
    EXPECT_EQ(value(scores, "accuracy"), 1) << class_token << scores.text;
    EXPECT_EQ(value(scores, "accuracy_of_five"), 1);
    EXPECT_LT(value(scores, "calibration_error"), 0.2);
    EXPECT_EQ(scores.quality, 1);
    EXPECT_NE(scores.text.find("96 pictures"), std::string::npos) << scores.text;
  }
}

TEST_F(ImageTasks, GiveEqualBitsAtEveryLayout) {
  ImageConfig c = small();
  c.augment = everything();
  c.run.model.dropout = 0.1;
  expect_equal_bits(c, "plain", {{2, 1, 2}, {4, 1, 1, true}, {1, 2, 1}, {2, 2, 2, true}});
  c.run.train.precision = DType::bf16;
  vit_options(c.run.model).pool = Pool::mean;
  c.run.model.positions = Positions::sinusoidal;
  expect_equal_bits(c, "waves", {{2, 1, 2}, {2, 2, 2, true}});
  const Ended kept = run(c);
  c.run.parallel.recompute = Recompute::full;
  EXPECT_EQ(run(c).finished.losses, kept.finished.losses);
}

// Of both targets of a mixed picture.
TEST_F(ImageTasks, SmoothedTargetsAreLearntToEqualBits) {
  ImageConfig c = small();
  c.augment = everything();
  c.run.loss.label_smoothing = 0.2;
  expect_equal_bits(c, "smoothed", {{2, 1, 2}, {1, 2, 1}, {2, 2, 2, true}});
  c.augment = {};
  c.run.train.steps = 120;
  EXPECT_EQ(value(run(c).validation, "accuracy"), 1);
}

TEST_F(ImageTasks, SwinGivesEqualBitsAtEveryLayout) {
  ImageConfig c = small_swin();
  c.augment = everything();
  c.run.model.dropout = 0.1;
  expect_equal_bits(c, "swin", {{2, 1, 2}, {4, 1, 1, true}, {1, 2, 1}, {2, 2, 2, true}});
  c.run.train.precision = DType::bf16;
  expect_equal_bits(c, "swin_bf16", {{2, 1, 2}, {2, 2, 2, true}});
  const Ended kept = run(c);
  for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
    c.run.parallel.recompute = recompute;
    EXPECT_EQ(run(c).finished.losses, kept.finished.losses);
  }
}

TEST_F(ImageTasks, SwinLearnsClasses) {
  ImageConfig c = small_swin();
  c.run.train.steps = 150;
  const Scores scores = run(c).validation;
  EXPECT_EQ(value(scores, "accuracy"), 1) << scores.text;
}

TEST_F(ImageTasks, TensorParallelRanksAgree) {
  for (ImageConfig c : {small(), small_swin()}) {
    const Ended expected = run(c);
    c.run.parallel.tensor = 2;
    const Ended found = run(c, 2);
    for (size_t i = 0; i < expected.finished.losses.size(); ++i)
      EXPECT_NEAR(found.finished.losses[i], expected.finished.losses[i], 1e-4);
  }
  ImageConfig c = small();
  c.run.parallel.tensor = 2;
  c.run.parallel.sequence = true;
  expect_error(ExitCode::usage, {"parallel.sequence is for models that read texts"},
               [&] { run(c, 2); });
}

TEST_F(ImageTasks, GoOnWithEqualBits) {
  ImageConfig c = small();
  c.augment = everything();
  expect_to_go_on_with_equal_bits(c);
}

TEST_F(ImageTasks, SwinGoesOnWithEqualBits) {
  ImageConfig c = small_swin();
  c.augment = everything();
  expect_to_go_on_with_equal_bits(c);
}

// A second pass sees other changes of the same pictures.
TEST_F(ImageTasks, MixedTargetsShareTheirWeight) {
  ImageConfig c = small();
  c.augment = everything();
  const auto made = task(c);
  const data::Batch first = made->samples().batch(0, 8), later = made->samples().batch(96, 8);
  EXPECT_EQ(first.targets.shape(), (Shape{8, 2}));
  EXPECT_EQ(first.features.shape(), (Shape{8, 4, 16}));
  EXPECT_EQ(first.tokens.shape(), (Shape{8, 5}));
  const auto weights = first.weights.span<float>();
  for (int64_t i = 0; i < 8; ++i) EXPECT_NEAR(weights[2 * i] + weights[2 * i + 1], 1, 1e-6);
  EXPECT_EQ(made->samples().batch(3, 1).features.span<float>()[5],
            first.features.rows(3, 4).span<float>()[5]);
  EXPECT_NE(
      std::memcmp(first.features.bytes_data(), later.features.bytes_data(), first.features.bytes()),
      0);
}

// Weights count also where nothing is shuffled.
TEST_F(ImageTasks, StoresAreBlendedByWeightInTheirOwnOrder) {
  ImageConfig c = small();
  c.run.data.shuffle = false;
  c.run.data.train = {"3:" + store_, "1:" + write_pictures(folder_.file("few.h5"), {.count = 7})};
  const auto made = task(c);
  const auto* samples = dynamic_cast<const data::ImageSamples*>(&made->samples());
  ASSERT_NE(samples, nullptr);
  const data::SampleOrder order({96, 7}, {3, 1}, c.run.train.seed, data::OrderKind::blended);
  int64_t of_few = 0;
  for (int64_t i = 0; i < 16; ++i) {
    of_few += order.at(i).dataset;
    EXPECT_EQ(samples->label(i), order.at(i).sample % 3) << i;
  }
  EXPECT_EQ(of_few, 4);
}

// Each picture once, whatever the sizes of the stores are.
TEST_F(ImageTasks, SeveralStoresAreJudgedOneAfterTheOther) {
  ImageConfig c = small();
  c.run.train.steps = 120;
  c.run.data.validation = {write_pictures(folder_.file("few.h5"), {.count = 7}), store_};
  const Scores scores = run(c).validation;
  EXPECT_EQ(value(scores, "accuracy"), 1) << scores.text;
  EXPECT_NE(scores.text.find("103 pictures"), std::string::npos) << scores.text;
}

// Four steps at the usual rate of fine-tuning move little.
TEST_F(ImageTasks, LearnedPositionsAreResizedForOtherPictures) {
  ImageConfig c = small();
  run(c, 1, "small");
  const std::string large = write_pictures(folder_.file("large.h5"), {.side = 16});
  testing::internal::CaptureStderr();
  finetuned("small", "one", large, 16);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "pictures of 16 x 16 pixels (height, width) instead of 8 x 8: learned positions "
                "are resized bicubically, from a grid of 2 x 2 patches to one of 4 x 4"),
            std::string::npos);
  finetuned("small", "four", large, 16, 4);
  EXPECT_EQ(first_difference(state_of(folder_.file("four")), state_of(folder_.file("one"))), "");
  const std::vector<float> before = tensor("small", "embedding.positions.weight"),
                           found = tensor("one", "embedding.positions.weight");
  data::PictureForm from{1, 8, 8, 4, 4}, to{1, 16, 16, 4, 4};
  const std::vector<float> wanted = resized_positions(before, from, to);
  ASSERT_EQ(found.size(), 17u * 32);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 2e-3) << i;
  const auto alone = single_rank();
  EXPECT_EQ(open_trained_model(folder_.file("one"), 0, *alone).model.context, 17);
}

TEST_F(ImageTasks, OtherPicturesAreTheMiddleOfOthersToo) {
  run(small(), 1, "small");
  const std::string large = write_pictures(folder_.file("large.h5"), {.side = 16});
  finetuned("small", "one", large, 16, 1, {data::Fit::stretch, data::Resampling::bicubic, 9, 10});
  const auto alone = single_rank();
  const TrainedModel made = open_trained_model(folder_.file("one"), 0, *alone);
  EXPECT_EQ(label_head(made.state.notes, "one")->fitting,
            (data::Fitting{data::Fit::stretch, data::Resampling::bicubic, 18, 20}));
}

TEST_F(ImageTasks, PositionsByWavesAreMadeAnewForOtherPictures) {
  ImageConfig c = small();
  c.run.model.positions = Positions::sinusoidal;
  run(c, 1, "small");
  const std::string large = write_pictures(folder_.file("large.h5"), {.side = 16});
  finetuned("small", "large", large, 16);
  const std::vector<double> waves = grid_waves(4, 4, 32, true);
  EXPECT_EQ(tensor("large", "embedding.positions.weight"),
            std::vector<float>(waves.begin(), waves.end()));
}

TEST_F(ImageTasks, SwinReadsOtherPicturesWhereItsWindowsFit) {
  run(small_swin(), 1, "swin");
  const std::string large = write_pictures(folder_.file("large.h5"), {.side = 16}),
                    tiny = write_pictures(folder_.file("tiny.h5"), {.side = 4});
  // the last stage's grid of 2 x 2 has windows of 2, and one of 4 x 4 has windows of 3
  expect_error(ExitCode::usage,
               {"windows within a grid of patches would have another side", "would be"},
               [&] { finetuned("swin", "large", large, 16); });
  ImageConfig c = small_swin();
  swin_options(c.run.model).window_side = 2;
  run(c, 1, "fitting");
  EXPECT_EQ(finetuned("fitting", "larger", large, 16).losses.size(), 4u);
  expect_error(ExitCode::usage, {"windows within a grid of patches would have another side"},
               [&] { finetuned("fitting", "smaller", tiny, 4); });
}

TEST_F(ImageTasks, OtherPicturesMustBeAskedFor) {
  run(small(), 1, "small");
  const std::string large = write_pictures(folder_.file("large.h5"), {.side = 16}),
                    colours = write_pictures(folder_.file("colours.h5"), {.channels = 3});
  expect_error(ExitCode::usage,
               {"large.h5 has pictures of 16 x 16", "reads 8 x 8",
                "give model.image_height=16 and model.image_width=16"},
               [&] { finetuned("small", "refused", large, 8); });
  expect_error(ExitCode::usage, {"large.h5 has pictures of 1 x 16 x 16", "model.image_height=24"},
               [&] { finetuned("small", "refused", large, 24); });
  expect_error(ExitCode::usage, {"colours.h5 has pictures of 3 x 8 x 8", "reads 1 x 8 x 8"},
               [&] { finetuned("small", "refused", colours, 8); });
  const std::string odd = write_pictures(folder_.file("odd.h5"), {.side = 10});
  expect_error(ExitCode::usage, {"pictures of 10 x 10 pixels", "do not divide into patches of 4"},
               [&] { finetuned("small", "refused", odd, 10); });
}

TEST_F(ImageTasks, RefusesStoresThatDoNotFit) {
  const auto refused = [&](const ImageConfig& c, std::initializer_list<std::string> words) {
    expect_error(ExitCode::usage, words, [&] {
      ImageConfig own = c;
      task(own);
    });
  };
  ImageConfig c = small();
  c.run.data.train = {};
  refused(c, {"data.train names no store of pictures"});
  c.run.data.train = {write_pictures(folder_.file("bare.h5"), {.labelled = false})};
  refused(c, {"bare.h5 has no labels"});
  c = small();
  c.run.data.validation = {
      write_pictures(folder_.file("others.h5"), {.classes = {"down", "up", "left"}})};
  refused(c, {"others.h5 has the classes down, up, left", "data.train has down, across, both"});
  c.run.data.validation = {write_pictures(folder_.file("colours.h5"), {.channels = 3})};
  refused(c, {"colours.h5 has pictures of 3 x 8 x 8", "pictures.h5 has 1 x 8 x 8"});
  c = small();
  picture_options(c.run.model).patch_height = 3;
  refused(c, {"pictures of 8 x 8 pixels (height, width) do not divide into patches of 3 x 3"});
  picture_options(c.run.model).patch_height = 4;
  picture_options(c.run.model).image_width = 28;
  refused(c, {"model.image_width=28, but the pictures have 8"});
  c = small();
  c.run.model.context = 512;
  refused(c, {"model.context=512, but these pictures have 5 tokens"});
  c = small();
  c.run.model.labels = 7;
  refused(c, {"model.labels=7", "the pictures have 3 classes"});
  c = small();
  c.augment.flip = 2;
  refused(c, {"augment.flip=2"});
}

using OnGpuImageTasks = ImageTasks;

TEST_F(OnGpuImageTasks, FollowTheCpu) {
  for (ImageConfig c : {small(), small_swin()}) {
    c.augment = everything();
    c.run.train.global_batch = 4;
    c.run.validation.eval.windows = 4;
    expect_gpu_to_follow(c);
  }
}

}  // namespace
}  // namespace skein::train
