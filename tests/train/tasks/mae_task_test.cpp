// Masked autoencoders learn hidden patches, to the same bits at every layout, and become
// classifiers.
#include <gtest/gtest.h>

#include "skein/core/files/files.h"
#include "skein/data/images/image.h"
#include "skein/models/mae/mae.h"
#include "skein/models/vit/vit.h"
#include "skein/train/evaluations/evaluate_images.h"
#include "skein/train/tasks/image_task.h"

#include "support/expect_error.h"
#include "train/task_run.h"
#include "train/tasks/picture_stores.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::expect_error;

struct MaskedImageConfig {
  PretrainConfig run;
  data::AugmentConfig augment;
};

class MaeTasks : public test::TaskRuns<MaskedImageConfig> {
 protected:
  std::unique_ptr<Task> task(MaskedImageConfig& c) const override {
    return image_task(c.run, c.augment);
  }

  // 4 of 16 patches are seen.
  MaskedImageConfig small() const {
    MaskedImageConfig c;
    c.run.model.architecture = &mae_architecture();
    picture_options(c.run.model).patch_height = 2;
    c.run.model.positions = Positions::sinusoidal;
    c.run.model.d_model = 32;
    c.run.model.n_layers = 4;
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

  // A run in the folder `name` that learns the classes, from the weights of `from` where it is
  // none.
  TrainResult finetuned(const std::string& from, const std::string& name, int64_t frozen,
                        const std::string& store, int64_t side = 8) const {
    const auto alone = single_rank();
    const TrainedModel source = open_trained_model(folder_.file(from), 0, *alone);
    FinetuneConfig c = finetune_defaults();
    c.run.model = source.model;
    picture_options(c.run.model).image_height = picture_options(c.run.model).image_width = side;
    c.run.data.train = c.run.data.validation = {store};
    c.run.train.steps = 60;
    c.run.train.global_batch = 16;
    c.run.train.frozen_layers = frozen;
    c.run.lr.lr = 1e-2;
    c.run.run.dir = folder_.file(name);
    c.run.run.tensorboard = false;
    const auto made = finetuned_image_task(c, source);
    return train(c.run, *made, *alone, "", source.info);
  }
  std::vector<std::byte> tensor(const std::string& run, const std::string& name) const {
    return state_of(folder_.file(run)).at("param/" + name);
  }

  const std::string store_ = write_pictures(folder_.file("pictures.h5"), {.labelled = false});
};

data::AugmentConfig changes() {
  data::AugmentConfig made;
  made.crop = 0.6;
  made.flip = 0.5;
  made.mixup = 0.5;
  return made;
}

TEST_F(MaeTasks, HiddenPatchesAreLearnt) {
  MaskedImageConfig c = small();
  const double before = value(run(c).validation, "loss");
  c.run.train.steps = 150;
  const Ended ended = run(c, 1, "long");
  EXPECT_LT(value(ended.validation, "loss"), 0.9 * before) << ended.validation.text;
  EXPECT_EQ(ended.validation.quality, -value(ended.validation, "loss"));
  EXPECT_NE(ended.validation.text.find("12 hidden patches in each of 96 pictures"),
            std::string::npos)
      << ended.validation.text;
}

TEST_F(MaeTasks, GiveEqualBitsAtEveryLayout) {
  MaskedImageConfig c = small();
  c.augment = changes();
  c.run.model.dropout = 0.1;
  c.run.model.stochastic_depth = 0.1;
  expect_equal_bits(c, "plain", {{2, 1, 2}, {4, 1, 1, true}, {1, 4, 1}, {2, 2, 2, true}});
  c.run.train.precision = DType::bf16;
  mae_options(c.run.model).norm_pixels = false;
  mae_options(c.run.model).decoder_layers = 3;
  expect_equal_bits(c, "bf16", {{2, 1, 2}, {2, 2, 2, true}});
  const Ended kept = run(c);
  for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
    c.run.parallel.recompute = recompute;
    EXPECT_EQ(run(c).finished.losses, kept.finished.losses);
  }
}

TEST_F(MaeTasks, TensorParallelRanksAgree) {
  MaskedImageConfig c = small();
  const Ended expected = run(c);
  c.run.parallel.tensor = 2;
  const Ended found = run(c, 2);
  for (size_t i = 0; i < expected.finished.losses.size(); ++i)
    EXPECT_NEAR(found.finished.losses[i], expected.finished.losses[i], 1e-5);
  EXPECT_NEAR(value(found.validation, "loss"), value(expected.validation, "loss"), 1e-5);
  mae_options(c.run.model).decoder_heads = 1;
  expect_error(ExitCode::usage, {"model.decoder_heads=1", "parallel.tensor=2"}, [&] { run(c, 2); });
}

TEST_F(MaeTasks, GoOnWithEqualBits) {
  MaskedImageConfig c = small();
  c.augment = changes();
  expect_to_go_on_with_equal_bits(c);
}

// A later pass hides others; what a run is judged by hides the same ones, whatever its seed.
TEST_F(MaeTasks, HideOtherPatchesInEachPass) {
  MaskedImageConfig c = small();
  const auto made = task(c);
  const auto targets = [&](int64_t first, int64_t count) {
    const Tensor ids = made->samples().batch(first, count).targets;
    return std::vector<int32_t>(ids.data<int32_t>(), ids.data<int32_t>() + ids.size());
  };
  const std::vector<int32_t> all = targets(0, 96);
  EXPECT_EQ(targets(5, 1), std::vector<int32_t>(all.begin() + 60, all.begin() + 72));
  EXPECT_NE(targets(96, 96), all);
  EXPECT_EQ(made->length(), 5);
  const Ended first = run(c, 1, "judged");
  const auto alone = single_rank();
  const TrainedModel source = open_trained_model(folder_.file("judged"), 0, *alone);
  const NamedValues values = evaluate_images({store_}, source, {}, 7, *alone);
  EXPECT_NEAR(value_named(values, "loss"), value(first.validation, "loss"), 1e-6);
  c.run.train.seed = 9;
  const auto other = task(c);
  const Tensor ids = other->samples().batch(0, 96).targets;
  EXPECT_NE(std::vector<int32_t>(ids.data<int32_t>(), ids.data<int32_t>() + ids.size()), all);
}

TEST_F(MaeTasks, DrawWhatTheyRebuild) {
  run(small(), 1, "drawn");
  const std::string png = read_text(folder_.file("drawn") + "/rebuilt.png");
  const data::Image sheet = data::decode_image(std::as_bytes(std::span(png)), "rebuilt.png", {});
  EXPECT_EQ(sheet.width, 3 * (8 * 8 + 4) + 4);
  EXPECT_EQ(sheet.height, 10 * (8 * 8 + 4) + 4);
}

TEST_F(MaeTasks, BecomeClassifiers) {
  MaskedImageConfig c = small();
  c.run.train.steps = 60;
  run(c, 1, "mae");
  const std::string labelled = write_pictures(folder_.file("labelled.h5"));
  const TrainResult probe = finetuned("mae", "probe", 3, labelled),
                    whole = finetuned("mae", "whole", -1, labelled);
  for (const char* name :
       {"embedding.class", "embedding.patches.weight", "block.1.attention.q.weight",
        "block.2.mlp.down.weight", "final_norm.gain"}) {
    EXPECT_EQ(tensor("probe", name), tensor("mae", name)) << name;
    EXPECT_NE(tensor("whole", name), tensor("mae", name)) << name;
  }
  EXPECT_GT(value(probe.validation, "accuracy"), 0.6) << probe.validation.text;
  EXPECT_GT(value(whole.validation, "accuracy"), 0.9) << whole.validation.text;
  const auto alone = single_rank();
  const TrainedModel made = open_trained_model(folder_.file("whole"), 0, *alone);
  EXPECT_EQ(made.model.architecture, &vit_architecture());
  EXPECT_EQ(made.model.n_layers, 3);
  expect_error(ExitCode::usage, {"has no labels"}, [&] { finetuned("mae", "none", -1, store_); });
}

TEST_F(MaeTasks, BecomeClassifiersOfLargerPictures) {
  run(small(), 1, "mae");
  const std::string large = write_pictures(folder_.file("large.h5"), {.side = 16});
  finetuned("mae", "large", 3, large, 16);
  const std::vector<double> waves = grid_waves(8, 8, 32, true);
  const std::vector<float> wanted(waves.begin(), waves.end());
  const std::vector<std::byte> found = tensor("large", "embedding.positions.weight");
  ASSERT_EQ(found.size(), wanted.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(found.data(), wanted.data(), found.size()), 0);
  EXPECT_EQ(tensor("large", "embedding.patches.weight"), tensor("mae", "embedding.patches.weight"));
}

TEST_F(MaeTasks, RefuseWhatDoesNotFit) {
  MaskedImageConfig c = small();
  mae_options(c.run.model).mask_ratio = 0.99;
  expect_error(ExitCode::usage, {"model.mask_ratio=0.99 hides 16 of the 16 patches"},
               [&] { run(c); });
  c = small();
  c.run.loss.label_smoothing = 0.1;
  expect_error(ExitCode::usage,
               {"loss.label_smoothing=0.1", "model.architecture=mae learns hidden"},
               [&] { run(c); });
  c = small();
  c.run.data.validation = {write_pictures(folder_.file("colours.h5"), {.channels = 3})};
  expect_error(ExitCode::usage, {"colours.h5 has pictures of 3 x 8 x 8"}, [&] { run(c); });
  c = small();
  run(c, 1, "run");
  c.run.model.architecture = &vit_architecture();
  c.run.data.train = c.run.data.validation = {write_pictures(folder_.file("labelled.h5"))};
  expect_error(ExitCode::usage, {"learns hidden patches, and this run learns classes"},
               [&] { run(c, 1, "run"); });
}

using OnGpuMaeTasks = MaeTasks;

TEST_F(OnGpuMaeTasks, FollowTheCpu) {
  MaskedImageConfig c = small();
  c.augment = changes();
  c.run.train.global_batch = 4;
  c.run.validation.eval.windows = 4;
  expect_gpu_to_follow(c);
}

}  // namespace
}  // namespace skein::train
