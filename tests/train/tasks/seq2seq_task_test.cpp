// Targets of sources are learnt, to the same bits at every layout and however they are cut, and
// judged by what the model writes.
#include <gtest/gtest.h>

#include "skein/models/gpt/gpt.h"
#include "skein/train/run_state.h"
#include "skein/train/tasks/decoded_texts.h"

#include "train/pair_fixture.h"

namespace skein::train {
namespace {

using test::PairRun;
using test::PairTasks;
using test::small_pairs;

TEST_F(PairTasks, LearnWhatTheyThenWrite) {
  PairRun c = small_pairs(file_);
  c.task.metric = "bleu";
  c.task.decoded = 32;
  const Scores scores = run(c).validation;
  EXPECT_GT(value(scores, "token_accuracy"), 0.98) << scores.text;
  EXPECT_GT(value(scores, "exact_match"), 95) << scores.text;
  EXPECT_EQ(scores.quality, value(scores, "bleu"));
  EXPECT_NE(scores.text.find("; 32 decoded: bleu "), std::string::npos) << scores.text;
  c.task.metric = "loss";
  c.task.decoded = 0;
  c.run.train.steps = 1;
  const Scores plain = run(c).validation;
  EXPECT_EQ(plain.quality, -value(plain, "loss"));
  EXPECT_EQ(plain.text.find("decoded"), std::string::npos);
  EXPECT_EQ(value(plain, "perplexity"), std::exp(value(plain, "loss")));
}

TEST_F(PairTasks, GiveEqualBitsAtEveryLayout) {
  int number = 0;
  for (const auto& [dropout, pack, smoothing, beams] :
       {std::tuple{0.1, false, 0.1, 0}, {0.0, true, 0.0, 2}}) {
    PairRun c = small_pairs(file_);
    c.run.train.steps = 5;
    c.run.model.dropout = dropout;
    c.run.loss.label_smoothing = smoothing;
    c.task.sides.pack = pack;
    c.task.decoded = 9;
    c.task.beam.size = beams;
    expect_equal_bits(
        c, fmt::format("case{}", number++),
        {{1, 1, 1}, {2, 1, 2}, {1, 2, 1}, {1, 3, 2}, {2, 2, 4}, {4, 1, 1, true}, {1, 4, 4}});
  }
}

TEST_F(PairTasks, TensorParallelRanksAgree) {
  PairRun c = small_pairs(file_);
  c.run.train.steps = 5;
  expect_near_at_tensor_parallel(c);
}

TEST_F(PairTasks, GoOnWithEqualBits) { expect_to_go_on_with_equal_bits(small_pairs(file_)); }

TEST_F(PairTasks, OfOtherSamplesAreNotGoneOnWith) {
  PairRun c = small_pairs(file_);
  c.run.train.steps = 2;
  run(c, 1, "run");
  c.run.train.steps = 4;
  PairRun other = c;
  other.run.train.global_batch = 48;
  other.run.parallel.reduction_groups = 1;
  expect_refused(other, {"has learnt 32 samples", "no multiple of the 48"}, "run");
  other = c;
  other.task.pairs.prefix = "to: ";
  expect_refused(other, {"task.prefix=", "now it is to: "}, "run");
  other = c;
  other.task.sides.source_length = 12;
  expect_refused(other, {"task.source_length=16", "12"}, "run");
  other = c;
  other.task.metric = "chrf";
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(other, 1, "run").step, 4);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("task.metric=loss, now it is chrf"),
            std::string::npos);
}

// The best weights are those of the best score, not of the best loss.
TEST_F(PairTasks, EndWhenWhatIsWrittenGetsNoBetter) {
  PairRun c = small_pairs(file_);
  c.task.metric = "exact_match";
  c.task.decoded = 16;
  c.run.train.steps = 400;
  c.run.lr.decay = LrConfig::Decay::constant;
  c.run.validation.every = 20;
  c.run.validation.patience = 2;
  const Ended ended = run(c, 1, "run");
  EXPECT_LT(ended.step, 400);
  const auto info = checkpoint::find_checkpoint(folder_.file("run") + "/best", *single_rank());
  ASSERT_TRUE(info.has_value());
  EXPECT_GT(run_state(info->metadata, info->path).best_quality, 95);
}

TEST_F(PairTasks, MayHaveATokenizerForEachSide) {
  PairRun c = small_pairs(file_);
  c.two_tokenizers = true;
  c.task.decoded = 4;
  c.run.train.steps = 2;
  test::set_model(c.run.model, {{"share_source", "false"}});
  run(c, 1, "run");
  const auto info = checkpoint::find_checkpoint(folder_.file("run"), *single_rank());
  const RunState state = run_state(info->metadata, info->path);
  EXPECT_EQ(state.tokenizer->vocab_size(), 257);
  EXPECT_EQ(pair_notes(state.notes, "run").source_tokenizer->vocab_size(), 259);
  const ModelConfig model = stored_model(state, "run");
  EXPECT_EQ(model.vocab_size, 257);
  EXPECT_EQ(model.architecture->source_ids(model), 259);
  const auto tensors = checkpoint_tensors(*info, *single_rank());
  EXPECT_EQ(tensors.at("param/embedding.tokens.weight"), (std::vector<int64_t>{259, 32}));
  EXPECT_EQ(tensors.at("param/target.tokens.weight"), (std::vector<int64_t>{257, 32}));
}

TEST_F(PairTasks, BeginWithAnothersWeights) {
  PairRun c = small_pairs(file_);
  c.run.train.steps = 2;
  const State before = run(c, 1, "first").finished.state;
  c.run.checkpoint.load = folder_.file("first");
  c.run.model.vocab_size = 257;
  c.run.lr.lr = 1e-30;
  c.run.lr.min_lr = c.run.optimizer.weight_decay = 0;
  c.adapts = true;
  const State after = run(c, 1, "second").finished.state;
  EXPECT_EQ(after.at("param/block.1.mlp.up.weight"), before.at("param/block.1.mlp.up.weight"));
}

TEST_F(PairTasks, PassesSayHowManyStepsThereAre) {
  PairRun c = small_pairs(file_);
  c.run.train.steps = 0;
  c.task.epochs = 1.5;
  EXPECT_EQ(run(c).step, 6) << "64 pairs in batches of 16";
}

TEST_F(PairTasks, RefuseWhatDoesNotFit) {
  PairRun c = small_pairs(file_);
  PairRun other = c;
  other.task.sides.source_length = 17;
  expect_refused(other, {"task.source_length=17", "16 places that the model has for a source"});
  other = c;
  other.run.model.vocab_size = 256;
  expect_refused(other, {"256 ids", "257"});
  other = c;
  other.two_tokenizers = true;
  test::set_model(other.run.model, {{"source_vocab_size", "257"}, {"share_source", "false"}});
  expect_refused(other, {"257 ids of sources", "259"});
  other = c;
  other.task.metric = "accuracy";
  expect_refused(other, {"task.metric=accuracy", "loss, bleu, chrf, rougeL, exact_match, f1"});
  other.task.metric = "bleu";
  other.task.decoded = 0;
  expect_refused(other, {"task.metric=bleu", "validation.decode=0"});
  other = c;
  other.task.beam = {.size = 4, .best = 2};
  expect_refused(other, {"beam.best=2"});
  other = c;
  other.run.model.architecture = &gpt_architecture();
  expect_refused(other, {"model.architecture=gpt reads no source"});
  other = c;
  other.run.data.train.clear();
  expect_refused(other, {"data.train names no pairs"});
  other = c;
  other.task.pairs.label = "text";
  expect_refused(other, {"text"});
}

}  // namespace
}  // namespace skein::train
