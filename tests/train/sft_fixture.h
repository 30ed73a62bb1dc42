// A small problem of conversations.
#pragma once

#include <fstream>
#include <gtest/gtest.h>
#include <random>

#include "skein/train/chats/sft.h"

#include "train/task_run.h"

namespace skein::test {

// Conversations of one to three turns, each answer the user's letter three times: 64 of them.
inline std::string write_conversations(const test::Scratch& folder, const std::string& name,
                                       uint32_t seed = 5) {
  std::mt19937 random(seed);
  std::ofstream file(folder.file(name));
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
  return folder.file(name);
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
inline std::string write_template(const test::Scratch& folder) {
  std::ofstream(folder.file("short.json"))
      << R"({"name": "short", "user": {"open": "U"}, "assistant": {"open": "A", "close": "{eos}"}, "end": "{eos}"})";
  return folder.file("short.json");
}

class SftTasks : public TaskRuns<train::SftConfig> {
 protected:
  std::unique_ptr<train::Task> task(train::SftConfig& c) const override {
    return sft_task(c, text::byte_tokenizer(), notes_);
  }

  train::TaskNotes notes_;  // of the checkpoint that runs begin with
  std::string file_ = write_conversations(folder_, "chats.jsonl"), form_ = write_template(folder_);
};

}  // namespace skein::test
