// Fine-tuned models label texts as they did in their training.
#include "skein/train/tasks/label_model.h"

#include <fstream>
#include <gtest/gtest.h>

#include "skein/core/values.h"
#include "skein/train/evaluations/evaluate_labels.h"
#include "skein/train/tasks/finetune.h"

#include "support/expect_error.h"
#include "train/label_fixture.h"

namespace skein::train {
namespace {

class LabelModels : public test::LabelTasks {
 protected:
  LabelModels() {
    std::ofstream examples(file_);
    for (const char* text : {"good", "a good", "good b", "b good a", "a b good", "good a b"})
      examples << text << "\tyes\n";
    for (const char* text : {"bad", "a bad", "bad b", "b bad a", "a b bad", "bad a b"})
      examples << text << "\tno\n";
  }

  Scores finetuned() const {
    FinetuneConfig c = test::small_task(file_, LabelKind::classify, true);
    c.run.train.global_batch = 12;
    c.run.train.micro_batch = 3;
    return run(c, 1, "run").validation;
  }

  static std::vector<data::LabelledExample> texts(const std::vector<std::string>& all) {
    std::vector<data::LabelledExample> made;
    for (const std::string& text : all) made.emplace_back().text = text;
    return made;
  }

  static void expect_refused(const std::string& words, const std::function<void()>& body) {
    test::expect_error(ExitCode::usage, {words}, body);
  }

  std::string file_ = folder_.file("examples.tsv");
};

TEST_F(LabelModels, SayWhatTheyHaveLearntAtEveryLayout) {
  finetuned();
  std::vector<float> alone;
  for (const int stages : {1, 2})
    run_ranks(stages, [&](Group& world) {
      ParallelConfig parallel;
      parallel.pipeline = stages;
      const TrainedModel source = open_trained_model(folder_.file("run"), 0, world);
      LabelModel model(source, parallel, DType::f32, 2, world);
      EXPECT_EQ(model.head().labels, (std::vector<std::string>{"no", "yes"}));
      const LabelData data = formed(model.head(), model.form(), texts({"good b", "bad b", "bad"}));
      const LabelAnswers answers = model.answers(data);
      EXPECT_EQ(answers.best(0, 0), 1);
      EXPECT_EQ(answers.best(1, 0), 0);
      EXPECT_EQ(answers.best(2, 0), 0);
      const auto scores = answers.scores.span<float>();
      const std::vector<float> found(scores.begin(), scores.end());
      if (alone.empty()) alone = found;
      EXPECT_EQ(found, alone) << stages;
    });
}

TEST_F(LabelModels, AreEvaluatedAsInTheirTraining) {
  const Scores validation = finetuned();
  run_ranks(1, [&](Group& world) {
    const TrainedModel source = open_trained_model(folder_.file("run"), 0, world);
    LabelEvalConfig config;
    Options options("skein eval", "Measures.");
    bind(options, config);
    options.set("data.test", file_, "the test");
    const NamedValues found = evaluate_labels(config, options, source, {}, 5, world);
    EXPECT_EQ(config.columns.text, "1") << "as in the training";
    EXPECT_EQ(value_named(found, "samples"), 12);
    EXPECT_EQ(value_named(found, "accuracy"), value(validation, "accuracy"));
    EXPECT_NEAR(value_named(found, "loss"), value(validation, "loss"), 1e-6);
  });
}

TEST_F(LabelModels, KeepTheColumnsThatWereGiven) {
  finetuned();
  run_ranks(1, [&](Group& world) {
    const TrainedModel source = open_trained_model(folder_.file("run"), 0, world);
    LabelModel model(source, {}, DType::f32, 2, world);
    LabelColumns columns;
    Options options("skein predict", "Labels.");
    bind(options, columns);
    options.set("task.text", "3", "the test");
    model.settle_columns(options, columns, source.info.path);
    EXPECT_EQ(columns.text, "3");
    EXPECT_EQ(columns.label, "2");
  });
}

TEST_F(LabelModels, RefuseTokensThatTheyDoNotKnow) {
  finetuned();
  run_ranks(1, [&](Group& world) {
    const TrainedModel source = open_trained_model(folder_.file("run"), 0, world);
    LabelModel model(source, {}, DType::f32, 2, world);
    LabelData data = formed(model.head(), model.form(), texts({"good"}));
    data.samples.at(0).form.tokens.back() = 15;
    expect_refused("a text holds token 15, but the model knows 15 ids",
                   [&] { model.answers(data); });
  });
}

TEST_F(LabelModels, AreFineTuned) {
  write_small_store(folder_.file("train.h5"));
  PretrainConfig c = small_config(folder_.file("train.h5"));
  c.train.steps = 1;
  train(c, 1, folder_, "pretrained");
  run_ranks(1, [&](Group& world) {
    const TrainedModel source = open_trained_model(folder_.file("pretrained"), 0, world);
    expect_refused("was not fine-tuned on labels; `skein finetune` makes such a model of it",
                   [&] { LabelModel(source, {}, DType::f32, 2, world); });
  });
}

}  // namespace
}  // namespace skein::train
