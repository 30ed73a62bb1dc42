// Runs with smoothed targets: what they report, and equal bits at every layout.
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

#include "skein/core/json.h"

#include "train/layout_check.h"

namespace skein::train {
namespace {

PretrainConfig smoothed_config(const std::string& store) {
  PretrainConfig c = small_config(store);
  c.train.steps = 3;
  c.loss.label_smoothing = 0.2;
  c.data.validation = {store};
  c.validation.eval.windows = 8;
  return c;
}

nlohmann::json first_line(const std::string& run) {
  std::ifstream lines(run + "/metrics.jsonl");
  std::string line;
  std::getline(lines, line);
  return nlohmann::json::parse(line);
}

// Before the first update the models are equal, so what is told beside the smoothed loss is the
// loss of the run without smoothing.
TEST(LabelSmoothingRun, TellsThePlainLossAndItsPerplexity) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  PretrainConfig c = smoothed_config(folder.file("train.h5"));
  const Finished smoothed = train(c, 1, folder, "smoothed");
  c.loss.label_smoothing = 0;
  const Finished plain = train(c, 1, folder, "plain");
  const auto told = first_line(folder.file("smoothed"));
  EXPECT_EQ(told["plain_loss"], plain.losses[0]);
  EXPECT_EQ(told["perplexity"], std::exp(plain.losses[0]));
  EXPECT_EQ(told["smoothed_loss"], smoothed.losses[0]);
  EXPECT_EQ(told["loss"], smoothed.losses[0]);
  EXPECT_NE(smoothed.losses[0], plain.losses[0]);
  EXPECT_FALSE(first_line(folder.file("plain")).contains("plain_loss"));
}

// A rate so low that nothing moves: both are judged by the same loss.
TEST(LabelSmoothingRun, IsJudgedByThePlainLoss) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  PretrainConfig c = smoothed_config(folder.file("train.h5"));
  c.lr.lr = 1e-30;
  c.lr.min_lr = 0;
  c.optimizer.weight_decay = 0;
  const Finished smoothed = train(c, 1, folder, "smoothed");
  c.loss.label_smoothing = 0;
  EXPECT_EQ(train(c, 1, folder, "plain").validation, smoothed.validation);
}

TEST(LabelSmoothingRun, GivesEqualBitsAtEveryLayout) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  const PretrainConfig c = smoothed_config(folder.file("train.h5"));
  const Finished expected = train(c, 1, folder, "expected");
  expect_equal_runs(c, {{2, 1, 2, true}, {1, 2, 1}, {2, 2, 1, true}, {1, 1, 4}}, folder, expected);
}

TEST(LabelSmoothingRun, TensorParallelRanksAreNear) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  PretrainConfig c = smoothed_config(folder.file("train.h5"));
  c.model.vocab_size = 65;  // the second rank has a column of padding
  const Finished expected = train(c, 1, folder, "expected");
  c.parallel.tensor = 2;
  const Finished found = train(c, 2, folder, "tensor");
  for (size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5);
}

TEST(LabelSmoothingRun, WorksForMaskedTokensAndRefusesTheRest) {
  const test::Scratch folder;
  test::write_sentence_store(folder.file("train.h5"));
  PretrainConfig c = encoder_config(folder.file("train.h5"));
  c.train.steps = 2;
  c.loss.label_smoothing = 0.2;
  EXPECT_NE(training_error(c, 1, folder, "pairs", ExitCode::usage)
                .find("loss.label_smoothing=0.2 is for tokens alone"),
            std::string::npos);
  c.mlm.pairs = data::PairTask::none;
  EXPECT_EQ(train(c, 1, folder, "masked").losses.size(), 2u);
  c.loss.label_smoothing = 1;
  EXPECT_NE(training_error(c, 1, folder, "all", ExitCode::usage)
                .find("loss.label_smoothing is 1; it must be in [0, 1)"),
            std::string::npos);
}

}  // namespace
}  // namespace skein::train
