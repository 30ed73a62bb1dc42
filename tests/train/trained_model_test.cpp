// Models as their checkpoints hold them.
#include "skein/train/trained_model.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

TEST(TrainedModels, AreWhatTheirRunsHaveLearnt) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  PretrainConfig c = small_config(folder.file("train.h5"));
  c.train.steps = 2;
  train(c, 1, folder, "run");
  const auto alone = single_rank();
  const TrainedModel found = open_trained_model(folder.file("run"), 0, *alone);
  EXPECT_EQ(found.info.step, 2);
  EXPECT_EQ(found.state.step, 2);
  EXPECT_EQ(found.model.d_model, 32);
  EXPECT_EQ(found.model.vocab_size, 64);
  EXPECT_EQ(found.mlm.pairs, data::PairTask::none);
  EXPECT_EQ(found.state.config.at("train.global_batch"), "16");
  require_tokenizer(found);
  EXPECT_EQ(trained_model(found.info, *alone).info.path, found.info.path);
}

TEST(TrainedModels, MustHaveTheTensorsOfTheModelThatTheyDescribe) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  PretrainConfig c = small_config(folder.file("train.h5"));
  c.train.steps = 1;
  train(c, 1, folder, "run");
  const auto alone = single_rank();
  checkpoint::CheckpointInfo info = *checkpoint::find_checkpoint(folder.file("run"), *alone);
  RunState state = run_state(info.metadata, info.path);
  state.config.at("model.n_layers") = "5";
  info.metadata = to_json(state, {});
  const std::string text = refusal_of([&] { trained_model(info, *alone); });
  EXPECT_NE(text.find(info.path + " describes another model than it holds"), std::string::npos)
      << text;
}

TEST(TrainedModels, AreLookedForWhereAnOptionSays) {
  const test::Scratch folder;
  const auto alone = single_rank();
  EXPECT_EQ(refusal_of([&] { open_trained_model("", 0, *alone); }),
            "checkpoint.path is empty; give a run's folder or a checkpoint, as "
            "--checkpoint.path=runs/pretrain");
  const std::string text =
      refusal_of([&] { open_trained_model(folder.path(), 0, *alone, "checkpoint.load"); });
  EXPECT_EQ(text, "checkpoint.load=" + checkpoint::no_checkpoint(folder.path()));
}

TEST(TrainedModels, WithoutATokenizerCannotEncodeText) {
  TrainedModel model;
  model.info.path = "runs/a";
  EXPECT_NE(refusal_of([&] {
              require_tokenizer(model);
            }).find("runs/a was trained on token files that named no tokenizer"),
            std::string::npos);
  model.state.imported = R"({"source":"gpt2","tokenizer_fault":"it holds no tokenizer.json"})";
  EXPECT_NE(refusal_of([&] {
              require_tokenizer(model);
            }).find("that of gpt2 was not imported (it holds no tokenizer.json)"),
            std::string::npos);
}

}  // namespace
}  // namespace skein::train
