// A small problem of conversations.
#pragma once

#include <fstream>
#include <gtest/gtest.h>
#include <random>

#include "skein/train/chats/sft.h"

#include "train/train_fixture.h"

namespace skein::test {

// Conversations of one to three turns, each answer the user's letter three times: 64 of them.
inline std::string write_conversations(const train::Workspace& folder, const std::string& name,
                                       uint32_t seed = 5) {
  std::mt19937 random(seed);
  std::ofstream file(folder.at(name));
  for (int i = 0; i < 64; ++i) {
    std::string turns;
    for (size_t turn = 0; turn < 1 + random() % 3; ++turn) {
      const std::string letter(1, static_cast<char>('a' + random() % 4));
      turns += fmt::format(
          R"({}{{"role": "user", "content": "{}"}}, {{"role": "assistant", "content": "{}"}})",
          turn ? ", " : "", letter, letter + letter + letter);
    }
    file << R"({"messages": [)" << turns << "]}\n";
  }
  return folder.at(name);
}

inline train::SftConfig small_task(const std::string& file, const std::string& form) {
  train::SftConfig c = train::sft_defaults();
  ModelConfig& model = c.run.model;
  model.vocab_size = 257;
  model.context = 48;
  model.d_model = 32;
  model.n_layers = 2;
  model.n_heads = 2;
  model.init_std = 0.1;
  model.positions = Positions::rotary;
  c.chat.form = form;
  c.run.data.train = c.run.data.validation = {file};
  c.run.train.steps = 80;
  c.run.lr.lr = 1e-2;
  c.run.validation.every = 0;
  c.run.run.log_every = 1000;
  c.run.run.tensorboard = false;
  c.run.run.dir.clear();
  return c;
}

// A template that costs few tokens.
inline std::string write_template(const train::Workspace& folder) {
  std::ofstream(folder.at("short.json"))
      << R"({"name": "short", "user": {"open": "U"}, "assistant": {"open": "A", "close": "{eos}"}, "end": "{eos}"})";
  return folder.at("short.json");
}

class SftTasks : public testing::Test {
 protected:
  struct Ended {
    train::Finished finished;
    train::Scores validation;
  };

  Ended run(train::SftConfig c, int ranks = 1, const std::string& name = "",
            const train::TaskNotes& notes = {}) {
    c.run.run.dir = name.empty() ? "" : folder_.at(name);
    Ended ended;
    run_ranks(ranks, [&](Group& world) {
      train::SftConfig own = c;
      const auto task = sft_task(own, text::byte_tokenizer(), notes);
      const train::TrainResult result = train::train(own.run, *task, world);
      if (world.rank() == 0)
        ended = {{result.losses, result.grad_norms, {}, {}}, result.validation};
    });
    if (!name.empty()) ended.finished.state = train::state_of(folder_.at(name));
    return ended;
  }
  static double value(const train::Scores& scores, const std::string& name) {
    for (const auto& [key, found] : scores.values)
      if (key == "validation_" + name) return found;
    ADD_FAILURE() << "no " << name;
    return 0;
  }
  std::string error_of(const train::SftConfig& c, const std::string& name = "") {
    try {
      run(c, 1, name);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
      return error.what();
    }
    return "no error";
  }

  train::Workspace folder_;
  std::string file_ = write_conversations(folder_, "chats.jsonl"), form_ = write_template(folder_);
};

}  // namespace skein::test
