// The maximal update parametrisation: what it scales, that it scales nothing at the base width, and
// that layouts keep its bits.
#include <cmath>
#include <gtest/gtest.h>

#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"

#include "support/expect_error.h"
#include "support/gradient_check.h"
#include "train/layout_check.h"

namespace skein::train {
namespace {

// Four times as wide as its base, half of that by wider heads.
ModelConfig wide(ModelConfig model) {
  model.mup_base_width = model.d_model / 4;
  model.mup_base_head = model.head_width() / 2;
  return model;
}

ModelConfig model_without_dropout() {
  ModelConfig model = small_config("").model;
  model.vocab_size = 64;
  model.dropout = 0;
  return model;
}

class MupRuns : public testing::Test {
 protected:
  void SetUp() override {
    write_small_store(folder_.file("train.h5"));
    config_ = small_config(folder_.file("train.h5"));
    config_.train.steps = 8;
    config_.lr.warmup = 3;
  }
  test::Scratch folder_;
  PretrainConfig config_;
};

TEST_F(MupRuns, ChangeNoBitAtTheBaseWidth) {
  for (const bool tied : {true, false}) {
    config_.model.tie_embeddings = tied;
    const Finished expected = train(config_, 1, folder_, fmt::format("without{}", tied));
    PretrainConfig base = config_;
    base.model.mup_base_width = base.model.d_model;
    expect_equal_run(base, 1, folder_, expected);
    base.model.mup_base_head = base.model.head_width();
    expect_equal_run(base, 1, folder_, expected);
    base.model = wide(base.model);
    EXPECT_NE(train(base, 1, folder_, fmt::format("wide{}", tied)).losses, expected.losses);
  }
}

TEST_F(MupRuns, GiveEqualBitsAtEveryLayout) {
  config_.model = wide(config_.model);
  for (const DType precision : {DType::f32, DType::bf16}) {
    config_.train.precision = precision;
    const Finished expected =
        train(config_, 1, folder_, fmt::format("expected{}", name_of(precision)));
    for (const bool zero : {false, true})
      for (const auto& [data, pipeline, chunks] : {std::tuple{2, 2, 1}, {4, 1, 1}, {1, 2, 2}}) {
        PretrainConfig c = config_;
        c.parallel.data = data;
        c.parallel.pipeline = pipeline;
        c.parallel.chunks = chunks;
        if (chunks > 1) c.parallel.schedule = ScheduleKind::interleaved;
        c.parallel.zero = zero;
        expect_equal_run(c, data * pipeline, folder_, expected);
      }
  }
}

TEST_F(MupRuns, AgreeUnderTensorParallelism) {
  config_.model = wide(config_.model);
  const Finished expected = train(config_, 1, folder_, "expected");
  config_.parallel.tensor = 2;
  for (const bool sequence : {false, true}) {
    config_.parallel.sequence = sequence;
    const Finished found = train(config_, 2, folder_, fmt::format("tensor{}", sequence));
    ASSERT_EQ(found.losses.size(), expected.losses.size());
    for (size_t i = 0; i < found.losses.size(); ++i)
      EXPECT_NEAR(found.losses[i] / expected.losses[i], 1.0, 1e-5);
  }
}

TEST_F(MupRuns, GoOnWithEqualBitsAndRefuseAnotherBase) {
  config_.model = wide(config_.model);
  const Finished expected = train(config_, 1, folder_, "expected");
  PretrainConfig c = config_;
  c.checkpoint.every = 5;
  c.checkpoint.keep = 10;
  train(c, 1, folder_, "stopped");
  for (const auto& entry : std::filesystem::directory_iterator(folder_.file("stopped/checkpoints")))
    if (entry.path().filename().string().starts_with("step-00000008"))
      std::filesystem::remove_all(entry.path());
  c.parallel.pipeline = 2;
  c.parallel.zero = true;
  const Finished found = train(c, 4, folder_, "stopped");
  EXPECT_EQ(found.losses, std::vector<double>(expected.losses.begin() + 5, expected.losses.end()));
  EXPECT_EQ(first_difference(found.state, expected.state), "");
  PretrainConfig other = config_;
  other.model.mup_base_width = 16;
  test::expect_error(ExitCode::usage, {"another model", "model.mup_base_width: 8 -> 16"},
                     [&] { train(other, 1, folder_, "stopped"); });
}

TEST(Mup, ScalesWeightsInsideBlocksOnly) {
  ModelConfig model = model_without_dropout(), scaled = wide(model);
  for (ModelConfig* c : {&model, &scaled}) {
    c->activation = MlpKind::swiglu;
    c->tie_embeddings = false;
    c->own.get<GptOptions>().value_head = true;
  }
  Parameters plain(DType::f32, 0, 1), parameters(DType::f32, 0, 1);
  const ModelPiece whole{0, 4, true, true, 0};
  const Gpt first(model, whole, false, plain), second(scaled, whole, false, parameters);
  int inside = 0;
  for (const Parameter& p : parameters.all()) {
    const bool hidden = p.name.starts_with("block.") && p.name.ends_with(".weight");
    const Parameter& before = *plain.find(p.name);
    EXPECT_EQ(p.rate, hidden ? 0.25 : 1) << p.name;
    EXPECT_EQ(before.rate, 1) << p.name;
    EXPECT_DOUBLE_EQ(p.start.deviation, before.start.deviation / (hidden ? 2 : 1)) << p.name;
    inside += hidden;
  }
  EXPECT_EQ(inside, 4 * 7);
  EXPECT_DOUBLE_EQ(scaled.attention_scale(), std::sqrt(4.0) / 8);
  EXPECT_EQ(model.attention_scale(), 1 / std::sqrt(8.0));
}

// With heads as wide as the base's and the same weights, logits differ by the width ratio alone.
TEST(Mup, DividesLogitsByTheWidthRatio) {
  const auto alone = single_rank();
  const auto logits = [&](const ModelConfig& model) {
    const NoGrad no_grad;
    Parameters parameters(DType::f32, 0, 1);
    const Gpt gpt(model, {0, 4, true, true, 0}, false, parameters);
    parameters.allocate(false);
    for (Parameter& p : parameters.all())
      if (p.start.kind == Start::normal) p.start.deviation = 0.1;
    parameters.initialize(3);
    const data::Batch batch = some_batch(2, model);
    Pass pass;
    pass.tp = alone.get();
    pass.batch = &batch;
    return gpt.logits(gpt.forward({}, pass).only().value());
  };
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
    ModelConfig model = model_without_dropout();
    model.norm_placement = placement;
    const Tensor plain = logits(model);
    model.mup_base_width = model.d_model / 4;
    const Tensor scaled = logits(model);
    for (int64_t i = 0; i < plain.size(); ++i)
      ASSERT_EQ(scaled.data<float>()[i], plain.data<float>()[i] / 4);
    model.mup_base_head = 2;
    EXPECT_NE(test::bytes_of(logits(model)), test::bytes_of(scaled)) << "scores are twice as small";
  }
}

TEST(Mup, RefusesWhatItCannotScale) {
  const auto refused = [](const std::function<void(ModelConfig&)>& change,
                          std::initializer_list<std::string> words) {
    ModelConfig model = model_without_dropout();
    change(model);
    test::expect_error(ExitCode::usage, words, [&] { check(model, 1, false); });
  };
  refused([](ModelConfig& c) { c.mup_base_width = -1; }, {"model.mup_base_width=-1", "negative"});
  refused([](ModelConfig& c) { c.mup_base_head = 8; },
          {"model.mup_base_head=8", "give model.mup_base_width"});
  refused(
      [](ModelConfig& c) {
        c.architecture = &bert_architecture();
        c.norm_placement = NormPlacement::post;
        c.mup_base_width = 8;
      },
      {"model.mup_base_width=8", "model.architecture=gpt"});
}

}  // namespace
}  // namespace skein::train
