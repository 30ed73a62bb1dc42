// Decoders are evaluated on conversations as in their training.
#include "skein/train/chats/evaluate_chats.h"

#include <fstream>
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "train/sft_fixture.h"

namespace skein::train {
namespace {

class ChatEvaluations : public test::SftTasks {
 protected:
  ChatEvaluations() {
    std::ofstream file(file_);
    for (const char* letter : {"a", "b", "c", "d", "e", "f", "g", "h"})
      file << fmt::format(R"({{"prompt": "{0}", "completion": "{0}{0}{0}"}})", letter) << '\n';
  }

  Scores tuned() const {
    SftConfig c = test::small_task(file_, "none");
    c.task.pack = false;
    c.run.train.steps = 4;
    c.run.train.global_batch = 8;
    return run(c, 1, "run").validation;
  }
  // What `into` then holds is taken over from the training.
  NamedValues evaluated(const std::string& file, ChatEvalConfig& into) const {
    const std::vector<std::string> files{file};
    NamedValues found;
    run_ranks(1, [&](Group& world) {
      const TrainedModel source = open_trained_model(folder_.file("run"), 0, world);
      Options options("skein eval", "Measures.");
      bind(options, into);
      const ParallelConfig parallel;
      found = evaluate_chats({into, options, files, source, parallel, 3}, world);
    });
    return found;
  }
};

TEST_F(ChatEvaluations, TakeRowsAndTemplateFromTheTraining) {
  const Scores validation = tuned();
  ChatEvalConfig config;
  const NamedValues found = evaluated(file_, config);
  EXPECT_FALSE(config.rows.pack) << "as in the training";
  EXPECT_EQ(value_named(found, "conversations"), 8);
  EXPECT_EQ(value_named(found, "tokens"), 8 * 4) << "each answer's end counts";
  EXPECT_NEAR(value_named(found, "loss"), value(validation, "loss"), 1e-6);
  EXPECT_NEAR(value_named(found, "token_accuracy"), value(validation, "token_accuracy"), 1e-12);
}

TEST_F(ChatEvaluations, NeedAnAnswerThatFits) {
  tuned();
  const std::string text(100, 'x');
  std::ofstream(folder_.file("long.jsonl"))
      << fmt::format(R"({{"prompt": "a", "completion": "{}"}})", text) << '\n';
  ChatEvalConfig config;
  test::expect_error(ExitCode::usage,
                     {"none of the 1 conversations of data.test has an answer that fits into "},
                     [&] { evaluated(folder_.file("long.jsonl"), config); });
}

}  // namespace
}  // namespace skein::train
