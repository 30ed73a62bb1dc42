// BigBird's classifiers of texts: a layer with the activation of the blocks before the labels.
#include <gtest/gtest.h>

#include "skein/models/bert/bert.h"

#include "convert/edited_golden.h"
#include "convert/fresh_run.h"
#include "support/expect_error.h"

namespace skein::convert {
namespace {

using test::expect_error;
using test::Scratch;

ModelConfig classifier(bool sparse) {
  ModelConfig c = test::small_bert(false);
  c.head = Head::sequence;
  c.labels = 3;
  bert_options(c).pooler = true;
  bert_options(c).pooler_activation = c.activation;
  if (!sparse) return c;
  c.attention.kinds = {"bigbird"};
  c.attention.other.drawn = false;
  return c;
}

TEST(BigBirdClassifiers, ComeBackAsTheyWere) {
  for (const bool sparse : {true, false}) {
    const Scratch scratch;
    test::save_fresh(scratch.file("run"), classifier(sparse), 1);
    test::export_folder(scratch.file("run"), scratch.file("out"));
    const test::Json json = test::Json::parse(test::bytes_of_file(scratch.file("out/config.json")));
    EXPECT_EQ(json["architectures"][0], "BigBirdForSequenceClassification");
    EXPECT_EQ(json["attention_type"], sparse ? "block_sparse" : "original_full");
    test::import_folder(scratch.file("out"), scratch.file("back"));
    EXPECT_EQ(model_values(test::model_of(scratch.file("back"))), model_values(classifier(sparse)));
    EXPECT_TRUE(test::tensors_of(scratch.file("back")) == test::tensors_of(scratch.file("run")));
  }
}

TEST(BigBirdClassifiers, NeedTheActivationOfTheirBlocks) {
  for (const std::optional<MlpKind> other : {std::optional<MlpKind>(), {MlpKind::relu}}) {
    const Scratch scratch;
    ModelConfig model = classifier(true);
    bert_options(model).pooler_activation = other;
    test::save_fresh(scratch.file("run"), model, 1);
    expect_error(ExitCode::usage, {"model.pooler_activation equal to model.activation"},
                 [&] { test::export_folder(scratch.file("run"), scratch.file("out")); });
  }
  const Scratch scratch;
  ModelConfig bert = test::small_bert(false);
  bert_options(bert).pooler_activation = MlpKind::relu;
  test::save_fresh(scratch.file("run"), bert, 1);
  expect_error(ExitCode::usage, {"model.pooler_activation=tanh"},
               [&] { test::export_folder(scratch.file("run"), scratch.file("out")); });
}

// As transformers writes it: nothing there reads it.
TEST(BigBirdClassifiers, LeaveOutTheModelsOwnPoolerWhereAllowed) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "big_bird_sequence");
  test::rewrite(folder, [](const std::string& all) { return all; }, {"bert.pooler.bias"});
  expect_error(ExitCode::usage, {"bert.pooler.bias", "--allow-unexpected"},
               [&] { test::import_folder(folder, scratch.file("refused")); });
  ConvertConfig config;
  config.allow_unexpected = true;
  test::import_folder(folder, scratch.file("run"), config);
  test::import_folder(test::golden("big_bird_sequence"), scratch.file("whole"));
  EXPECT_TRUE(test::tensors_of(scratch.file("run")) == test::tensors_of(scratch.file("whole")));
}

TEST(PoolerActivation, NeedsAPooler) {
  ModelConfig model = test::small_bert(true);
  bert_options(model).pooler_activation = MlpKind::relu;
  expect_error(ExitCode::usage,
               {"model.pooler_activation says what stands behind model.pooler, and there is none"},
               [&] { check(model, 1, false); });
}

}  // namespace
}  // namespace skein::convert
