// Noised text is restored, to the same bits at every layout, and what the source hides is told
// apart from what it shows.
#include <cmath>
#include <gtest/gtest.h>

#include "skein/models/architecture.h"
#include "skein/train/evaluate_denoised.h"
#include "skein/train/run_state.h"
#include "skein/train/tasks/pair_notes.h"

#include "train/layout_check.h"
#include "train/pair_fixture.h"

namespace skein::train {
namespace {

constexpr int kSentinels = 16;

PretrainConfig denoising_config(const std::string& store, data::NoiseKind kind) {
  PretrainConfig c = small_config(store);
  c.model = test::small_encoder_decoder();
  c.model.context = 32;
  c.model.dropout = 0.1;
  c.data.validation = {store};
  c.noise.kind = kind;
  c.train.steps = 4;
  c.lr.lr = 5e-3;
  c.validation.eval.windows = 20;
  return c;
}

class DenoisingRun : public testing::Test {
 protected:
  DenoisingRun() { test::write_sentence_store(store_, 60, kSentinels); }

  test::Scratch folder_;
  const std::string store_ = folder_.file("train.h5");
};

TEST_F(DenoisingRun, GivesEqualBitsAtEveryLayout) {
  for (const data::NoiseKind kind : {data::NoiseKind::text, data::NoiseKind::spans}) {
    PretrainConfig c = denoising_config(store_, kind);
    c.data.cross_document_attention = kind == data::NoiseKind::spans;
    const std::string name = fmt::format("expected{}", static_cast<int>(kind));
    const Finished expected = train(c, 1, folder_, name);
    expect_equal_runs(c, {{2, 1, 2, true}, {1, 2, 1}, {1, 3, 4}, {2, 2, 4, true}, {1, 4, 2}},
                      folder_, expected);
  }
}

TEST_F(DenoisingRun, LearnsAndTellsHiddenTokensFromShownOnes) {
  PretrainConfig c = denoising_config(store_, data::NoiseKind::text);
  c.model.dropout = 0;
  c.train.steps = 150;
  const auto found = train(c, 1, folder_, "run").validation;
  EXPECT_GT(found.at("hidden_loss"), found.at("shown_loss"));
  EXPECT_GT(found.at("shown_accuracy"), found.at("hidden_accuracy"));
  EXPECT_LT(found.at("loss"), found.at("hidden_loss"));
  EXPECT_GT(found.at("loss"), found.at("shown_loss"));
  EXPECT_EQ(found.at("perplexity"), std::exp(found.at("loss")));
  EXPECT_LT(found.at("loss"), std::log(64.0));
}

TEST_F(DenoisingRun, OfNoiseThatHidesNothingTellsShownTokensAlone) {
  PretrainConfig c = denoising_config(store_, data::NoiseKind::text);
  c.noise.infill = 0;
  const auto found = train(c, 1, folder_, "run").validation;
  EXPECT_FALSE(found.contains("hidden_loss"));
  EXPECT_NEAR(found.at("shown_loss"), found.at("loss"), 1e-12);
}

// The plain loss judges both.
TEST_F(DenoisingRun, IsJudgedByThePlainLossWhereTargetsAreSmoothed) {
  PretrainConfig c = denoising_config(store_, data::NoiseKind::spans);
  c.lr.lr = 1e-30;
  c.lr.min_lr = 0;
  c.optimizer.weight_decay = 0;
  const auto plain = train(c, 1, folder_, "plain").validation;
  c.loss.label_smoothing = 0.2;
  EXPECT_EQ(train(c, 1, folder_, "smoothed").validation, plain);
}

TEST_F(DenoisingRun, GoesOnWithEqualBits) {
  PretrainConfig c = denoising_config(store_, data::NoiseKind::text);
  c.train.steps = 6;
  c.lr.decay = LrConfig::Decay::constant;
  const Finished expected = train(c, 1, folder_, "expected");
  c.train.steps = 3;
  train(c, 1, folder_, "run");
  c.train.steps = 6;
  c.parallel.pipeline = 2;
  const Finished found = train(c, 2, folder_, "run");
  EXPECT_EQ(found.losses, std::vector<double>(expected.losses.begin() + 3, expected.losses.end()));
  EXPECT_EQ(first_difference(found.state, expected.state), "");
}

TEST_F(DenoisingRun, SaysInCheckpointsWhatTheDecoderIsFedFirst) {
  for (const auto& [kind, start] :
       {std::pair{data::NoiseKind::text, "[SEP]"}, std::pair{data::NoiseKind::spans, "[PAD]"}}) {
    PretrainConfig c = denoising_config(store_, kind);
    c.train.steps = 1;
    train(c, 1, folder_, start);
    const auto info = checkpoint::find_checkpoint(folder_.file(start), *single_rank());
    const RunState state = run_state(info->metadata, info->path);
    EXPECT_EQ(pair_notes(state.notes, "run").task, "denoising");
    EXPECT_EQ(pair_notes(state.notes, "run").start, start);
    EXPECT_EQ(stored_model(state, "run").vocab_size, 64 + kSentinels);
  }
}

TEST_F(DenoisingRun, RefusesLengthsAndVocabulariesThatDoNotFit) {
  const auto refused = [&](const PretrainConfig& c, const std::string& words) {
    const std::string found = training_error(c, 1, folder_, "refused", ExitCode::usage);
    EXPECT_NE(found.find(words), std::string::npos) << found;
  };
  PretrainConfig c = denoising_config(store_, data::NoiseKind::text);
  c.noise.length = 40;
  refused(c, "noise.length=40 is more than the 32 positions");
  c.noise.length = 0;
  test::set_model(c.model, {{"source_context", "48"}});
  refused(c, "but the model has 32 positions for them");
  c = denoising_config(store_, data::NoiseKind::text);
  c.model.vocab_size = 70;
  refused(c, "model.vocab_size=70 is smaller than the 80 ids");
  c.model.vocab_size = 0;
  test::set_model(c.model, {{"source_vocab_size", "64"}, {"share_source", "false"}});
  refused(c, "the model knows 64 ids of sources");
}

}  // namespace
}  // namespace skein::train
