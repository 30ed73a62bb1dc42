// Small models that read sources, and a small problem of pairs.
#pragma once

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <utility>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/train/tasks/seq2seq.h"

#include "train/task_run.h"

namespace skein::test {

// Options of the model by their names, those of its architecture alone among them.
inline void set_model(ModelConfig& model,
                      const std::vector<std::pair<std::string, std::string>>& values) {
  Options options("", "");
  bind(options, model);
  for (const auto& [key, value] : values) options.set("model." + key, value, "a test");
}

// Two blocks on either side.
inline ModelConfig small_encoder_decoder() {
  ModelConfig model;
  set_model(model, {{"architecture", "transformer"},
                    {"context", "16"},
                    {"d_model", "32"},
                    {"n_layers", "4"},
                    {"n_heads", "2"},
                    {"init_std", "0.1"}});
  return model;
}

struct PairRun {
  train::PretrainConfig run;
  train::Seq2seqConfig task;
  bool two_tokenizers = false;
  bool adapts = false;  // it begins with a checkpoint's weights
};

// 64 pairs: a source is a letter once to four times with a word before it, its target that letter
// three times.
inline std::string write_pairs(const test::Scratch& folder, const std::string& name,
                               uint32_t seed = 5) {
  std::mt19937 random(seed);
  std::ofstream file(folder.file(name));
  file << "text\tlabel\n";
  for (int i = 0; i < 64; ++i) {
    const char letter = static_cast<char>('a' + random() % 4);
    file << std::string(random() % 3, '.') << std::string(1 + random() % 4, letter) << '\t'
         << std::string(3, letter) << '\n';
  }
  return folder.file(name);
}

inline PairRun small_pairs(const std::string& file) {
  PairRun c;
  c.run.model = small_encoder_decoder();
  c.run.data.train = c.run.data.validation = {file};
  c.run.train.steps = 120;
  c.run.train.global_batch = 16;
  c.run.train.micro_batch = 4;
  c.run.lr.lr = 1e-2;
  c.run.validation.every = 0;
  c.run.run.log_every = 1000;
  c.run.run.tensorboard = false;
  return c;
}

class PairTasks : public TaskRuns<PairRun> {
 protected:
  data::PairTokenizers tokenizers(bool two) const {
    const std::shared_ptr<const text::Tokenizer> bytes = text::byte_tokenizer();
    if (!two) return {bytes, bytes};
    return {text::bpe_tokenizer({{'a', 'a'}, {'b', 'b'}}), bytes};
  }
  std::unique_ptr<train::Task> task(PairRun& c) const override {
    return seq2seq_task(c.run, c.task, tokenizers(c.two_tokenizers), c.adapts);
  }
  void expect_refused(const PairRun& c, std::initializer_list<std::string> words,
                      const std::string& name = "") const {
    const std::string found = error_of(c, name);
    for (const std::string& word : words) EXPECT_NE(found.find(word), std::string::npos) << found;
  }

  std::string file_ = write_pairs(folder_, "pairs.tsv");
};

}  // namespace skein::test
