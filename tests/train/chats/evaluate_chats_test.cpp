// Decoders are evaluated on conversations as in their training.
#include "skein/train/chats/evaluate_chats.h"

#include <fstream>
#include <gtest/gtest.h>

#include "train/train_fixture.h"

namespace skein::train {
namespace {

class ChatEvaluations : public testing::Test {
 protected:
  ChatEvaluations() {
    std::ofstream file(file_);
    for (const char* letter : {"a", "b", "c", "d", "e", "f", "g", "h"})
      file << fmt::format(R"({{"prompt": "{0}", "completion": "{0}{0}{0}"}})", letter) << '\n';
  }

  Scores tuned() {
    SftConfig c = sft_defaults();
    ModelConfig& model = c.run.model;
    model.vocab_size = 257;
    model.context = 48;
    model.d_model = 32;
    model.n_layers = model.n_heads = 2;
    model.init_std = 0.1;
    model.positions = Positions::rotary;
    c.chat.form = "none";
    c.task.pack = false;
    c.run.data.train = c.run.data.validation = {file_};
    c.run.train.steps = 4;
    c.run.train.global_batch = 8;
    c.run.lr.lr = 1e-2;
    c.run.validation.every = 0;
    c.run.run.log_every = 1000;
    c.run.run.tensorboard = false;
    c.run.run.dir = folder_.at("run");
    Scores validation;
    run_ranks(1, [&](Group& world) {
      const auto task = sft_task(c, text::byte_tokenizer(), {});
      validation = train(c.run, *task, world).validation;
    });
    return validation;
  }

  Workspace folder_;
  std::string file_ = folder_.at("chats.jsonl");
};

TEST_F(ChatEvaluations, TakeRowsAndTemplateFromTheTraining) {
  const Scores validation = tuned();
  const std::vector<std::string> files{file_};
  run_ranks(1, [&](Group& world) {
    const TrainedModel source = open_trained_model(folder_.at("run"), world);
    ChatEvalConfig config;
    Options options("skein eval", "Measures.");
    bind(options, config);
    const ParallelConfig parallel;
    const NamedValues found = evaluate_chats({config, options, files, source, parallel, 3}, world);
    EXPECT_FALSE(config.rows.pack) << "as in the training";
    EXPECT_EQ(value_named(found, "conversations"), 8);
    EXPECT_EQ(value_named(found, "tokens"), 8 * 4) << "each answer's end counts";
    EXPECT_NEAR(value_named(found, "loss"), value_named(validation.values, "validation_loss"),
                1e-6);
    EXPECT_NEAR(value_named(found, "token_accuracy"),
                value_named(validation.values, "validation_token_accuracy"), 1e-12);
  });
}

TEST_F(ChatEvaluations, NeedAnAnswerThatFits) {
  tuned();
  const std::string text(100, 'x');
  std::ofstream(folder_.at("long.jsonl"))
      << fmt::format(R"({{"prompt": "a", "completion": "{}"}})", text) << '\n';
  const std::vector<std::string> files{folder_.at("long.jsonl")};
  run_ranks(1, [&](Group& world) {
    const TrainedModel source = open_trained_model(folder_.at("run"), world);
    ChatEvalConfig config;
    Options options("skein eval", "Measures.");
    bind(options, config);
    const ParallelConfig parallel;
    try {
      evaluate_chats({config, options, files, source, parallel, 3}, world);
      ADD_FAILURE() << "nothing was refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what())
                    .find("none of the 1 conversations of data.test has an answer that fits into "),
                std::string::npos)
          << error.what();
    }
  });
}

}  // namespace
}  // namespace skein::train
