// What label tasks begin with, and what they refuse.
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/train/tasks/finetune.h"
#include "skein/train/tasks/label_scores.h"

#include "train/label_fixture.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::LabelTasks;
using test::small_task;

TEST_F(LabelTasks, BeginWithAnotherModelsWeightsAndANewHead) {
  FinetuneConfig c = small_task(problem_.classes(false), LabelKind::classify, true);
  c.run.train.steps = 4;
  const State before = run(c, 1, "classes").finished.state;
  FinetuneConfig next = small_task(problem_.tags(), LabelKind::tag, true);
  bert_options(next.run.model).pool =
      Pool::mean;  // of a model of whole texts; tags have no use for it
  next.run.train.steps = 1;
  next.run.lr.lr = 1e-30;
  next.run.optimizer.weight_decay = 0;
  next.run.checkpoint.load = folder_.file("classes");
  testing::internal::CaptureStderr();
  const State after = run(next, 1, "tags").finished.state;
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("begin anew: classifier.bias, classifier.weight"), std::string::npos) << said;
  EXPECT_EQ(after.at("param/block.1.mlp.up.weight"), before.at("param/block.1.mlp.up.weight"));
  EXPECT_FALSE(after.contains("param/pooler.weight"));
  EXPECT_EQ(after.at("param/classifier.weight").size(), size_t{3 * 32 * 4});
  // The same labels keep their head, and the pooler comes back anew where it was left out.
  next = small_task(problem_.classes(false), LabelKind::classify, true);
  next.run.train.steps = 1;
  next.run.lr.lr = 1e-30;
  next.run.optimizer.weight_decay = 0;
  next.run.checkpoint.load = folder_.file("classes");
  const State again = run(next, 1, "again").finished.state;
  EXPECT_EQ(again.at("param/classifier.weight"), before.at("param/classifier.weight"));
  EXPECT_EQ(again.at("param/pooler.weight"), before.at("param/pooler.weight"));
  next.run.checkpoint.load = folder_.file("tags");
  testing::internal::CaptureStderr();
  run(next, 1, "back");
  const std::string back = testing::internal::GetCapturedStderr();
  EXPECT_NE(back.find("begin anew: classifier.bias, classifier.weight, pooler.bias, pooler.weight"),
            std::string::npos)
      << back;
  next.run.model.d_model = 64;
  EXPECT_NE(error_of(next, "wide").find("of another shape"), std::string::npos);
}

// Of a tensor of f32 in a checkpoint.
double deviation_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// Pretraining with pairs leaves a pooler, which is kept; without them fine-tuning adds one by its
// width.
TEST_F(LabelTasks, KeepAPretrainedPoolerAndBeginANewOneByItsWidth) {
  test::write_sentence_store(folder_.file("store.h5"));
  for (const bool pretrained : {true, false}) {
    const std::string from = pretrained ? "with" : "without", to = from + "_tuned";
    PretrainConfig first = encoder_config(folder_.file("store.h5"));
    first.data.validation.clear();
    first.model.vocab_size = 64;
    bert_options(first.model).pooler = pretrained;
    if (!pretrained) first.mlm.pairs = data::PairTask::none;
    first.train.steps = 2;
    first.run.dir = folder_.file(from);
    pretrain(first, *single_rank());
    const State before = state_of(folder_.file(from));
    FinetuneConfig c = small_task(problem_.classes(false), LabelKind::classify, true);
    c.run.model = first.model;
    c.run.train.steps = 1;
    c.run.lr.lr = 1e-30;
    c.run.optimizer.weight_decay = 0;
    c.run.checkpoint.load = folder_.file(from);
    const auto after = run(c, 1, to).finished.state.at("param/pooler.weight");
    if (pretrained)
      EXPECT_EQ(after, before.at("param/pooler.weight"));
    else
      EXPECT_NEAR(deviation_of(after), 1 / std::sqrt(32.0), 0.02);
  }
}

TEST_F(LabelTasks, RunsOfOtherLabelsAreRefusedAndOtherExamplesTooUnlessAskedFor) {
  FinetuneConfig c = small_task(problem_.classes(false), LabelKind::classify, true);
  c.run.train.steps = 2;
  run(c, 1, "run");
  c.run.train.steps = 3;
  std::ofstream(folder_.file("classes.tsv"), std::ios::app) << "good a\tyes\n";
  EXPECT_NE(error_of(c, "run").find("checkpoint.other_data=true"), std::string::npos);
  c.run.checkpoint.other_data = true;
  testing::internal::CaptureStderr();
  run(c, 1, "run");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("training samples are not those"), std::string::npos) << said;
  c.task.labels = {"yes", "no"};
  EXPECT_NE(error_of(c, "run").find("2 labels, but here are task.kind=classify and 2 others"),
            std::string::npos);
}

TEST_F(LabelTasks, RefuseWhatDoesNotFit) {
  const FinetuneConfig good = small_task(problem_.classes(false), LabelKind::classify, true);
  FinetuneConfig c = good;
  c.run.data.train.clear();
  EXPECT_NE(error_of(c).find("data.train names no file"), std::string::npos);
  c = good;
  c.task.length = 25;
  EXPECT_NE(error_of(c).find("task.length=25 must be from 1 to model.context=24"),
            std::string::npos);
  c = good;
  c.task.length = 3;
  EXPECT_NE(error_of(c).find("task.length=3 leaves no room"), std::string::npos);
  c = good;
  c.task.metric = LabelMetric::spearman;
  EXPECT_NE(error_of(c).find("use one of accuracy, macro_f1, matthews"), std::string::npos);
  c = good;
  c.task.labels = {"yes", "perhaps"};
  EXPECT_NE(error_of(c).find("the label \"no\" is none of the 2 known ones"), std::string::npos)
      << error_of(c);
  c = good;
  c.task.labels = {"yes"};
  c.task.kind = LabelKind::regress;
  EXPECT_NE(error_of(c).find("task.labels are for classes"), std::string::npos);
  c = good;
  c.task.kind = LabelKind::regress;
  EXPECT_NE(error_of(c).find("is no number"), std::string::npos);
  c = good;
  std::ofstream(folder_.file("one.tsv")) << "good\tyes\nbad\tyes\n";
  c.run.data.train = {folder_.file("one.tsv")};
  EXPECT_NE(error_of(c).find("all labels of data.train are \"yes\""), std::string::npos)
      << error_of(c);
  c.task.kind = LabelKind::regress;
  std::ofstream(folder_.file("one.tsv")) << "good\t1e300\nbad\t-1e300\n";
  EXPECT_NE(error_of(c).find("the numbers of data.train are too large"), std::string::npos)
      << error_of(c);
  std::ofstream(folder_.file("one.tsv")) << "good\t1\nbad\t2\n";
  std::ofstream(folder_.file("two.tsv")) << "good\t1\nbad\t1e300\n";
  c.run.data.validation = {folder_.file("two.tsv")};
  EXPECT_NE(error_of(c).find("two.tsv:2: the number 1e+300 is too far from those that the model "
                             "learns, of mean 1.5 and deviation 0.5"),
            std::string::npos)
      << error_of(c);
  c = good;
  c.run.model.vocab_size = 10;
  EXPECT_NE(error_of(c).find("the model knows 10 ids, but its tokenizer has 15"), std::string::npos)
      << error_of(c);
}

TEST(LabelHeads, KeepAllInTheirNotes) {
  LabelHead head{LabelKind::regress,  LabelMetric::pearson, {}, 3.25, 0.1, 77, "\t|", true,
                 {{"task.text", "s"}}};
  const TaskNotes notes = to_notes(head, 4'000'000'000u);
  const auto back = label_head(notes, "here");
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(to_notes(*back, checksum_in(notes)).text(), notes.text());
  EXPECT_EQ(label_head({}, "here"), nullptr);
  EXPECT_EQ(label_head(TaskNotes("{\"other\":1}"), "here"), nullptr);
  for (const char* damaged : {"{\"task\":\"labels\"}", "[1]", "{"}) try {
      label_head(TaskNotes(damaged), "here");
      ADD_FAILURE() << damaged;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("the notes of here on its labels cannot be read"),
                std::string::npos)
          << error.what();
    }
}

}  // namespace
}  // namespace skein::train
