// What the options of fine-tuning mean together.
#include <gtest/gtest.h>

#include "skein/core/error.h"
#include "skein/train/tasks/finetune.h"

namespace skein::train {
namespace {

FinetuneConfig settled_by(const std::vector<std::string>& flags) {
  FinetuneConfig config = finetune_defaults();
  Options options("skein finetune", "");
  bind(options, config);
  options.parse(flags);
  settle(options, config);
  return config;
}

std::string error_of(const std::vector<std::string>& flags) {
  return refusal_of([&] { settled_by(flags); });
}

void expect_refused(const std::vector<std::string>& flags, const std::string& words) {
  const std::string found = error_of(flags);
  EXPECT_NE(found.find(words), std::string::npos) << found;
}

TEST(FinetuneOptions, LabelsAreWhatIsLearntUnlessPairsAreAskedFor) {
  const FinetuneConfig labels = settled_by({"--task.kind=regress", "--task.metric=pearson"});
  ASSERT_TRUE(labels.kind.has_value());
  EXPECT_EQ(labels.task.kind, LabelKind::regress);
  EXPECT_EQ(labels.task.metric, LabelMetric::pearson);
  EXPECT_EQ(settled_by({}).task.metric, LabelMetric::accuracy);
  EXPECT_EQ(settled_by({"--task.kind=tag", "--task.metric=f1"}).task.metric, LabelMetric::f1);

  const FinetuneConfig pairs =
      settled_by({"--task.kind=seq2seq", "--task.text=en", "--task.label=de", "--task.metric=f1",
                  "--task.epochs=7", "--task.prefix=to: ", "--task.source_length=96",
                  "--beam.size=4", "--loss.label_smoothing=0.1", "--validation.decode=50"});
  EXPECT_FALSE(pairs.kind.has_value());
  EXPECT_EQ(pairs.seq2seq.pairs.text, "en");
  EXPECT_EQ(pairs.seq2seq.pairs.label, "de");
  EXPECT_EQ(pairs.seq2seq.pairs.prefix, "to: ");
  EXPECT_EQ(pairs.seq2seq.metric, "f1");
  EXPECT_EQ(pairs.seq2seq.epochs, 7);
  EXPECT_EQ(pairs.seq2seq.sides.source_length, 96);
  EXPECT_EQ(pairs.seq2seq.beam.size, 4);
  EXPECT_EQ(pairs.seq2seq.decoded, 50);
  EXPECT_EQ(pairs.run.loss.label_smoothing, 0.1);
}

TEST(FinetuneOptions, OfTheOtherKindOfTaskAreRefused) {
  expect_refused({"--task.prefix=x"}, "task.prefix is for seq2seq, but task.kind is classify");
  expect_refused({"--task.kind=tag", "--beam.size=2"}, "beam.size is for seq2seq");
  expect_refused({"--validation.decode=2"}, "validation.decode is for seq2seq");
  EXPECT_EQ(settled_by({"--loss.label_smoothing=0.1"}).run.loss.label_smoothing, 0.1);
  expect_refused({"--task.kind=regress", "--loss.label_smoothing=0.1"},
                 "loss.label_smoothing=0.1 is for classes and tokens, but task.kind=regress");
  expect_refused({"--task.kind=seq2seq", "--task.labels=a,b"}, "task.labels is for labels");
  expect_refused({"--task.kind=seq2seq", "--task.length=64"},
                 "task.source_length and task.target_length");
  expect_refused({"--task.kind=seq2seq", "--task.pair=2"}, "task.pair is for labels");
}

TEST(FinetuneOptions, AMetricMeasuresTheTask) {
  expect_refused({"--task.metric=bleu"}, "task.metric=bleu does not measure task.kind=classify");
  expect_refused({"--task.metric=mse"}, "task.metric=mse does not measure task.kind=classify");
}

}  // namespace
}  // namespace skein::train
