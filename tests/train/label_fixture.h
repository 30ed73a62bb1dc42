// Small problems of labels: classes, numbers, tags.
#pragma once

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/train/tasks/finetune.h"
#include "skein/train/tasks/label_scores.h"

#include "train/task_run.h"

namespace skein::test {

using Words = std::vector<std::string>;

// Small problems in files of `folder`, whose words a tokenizer of whole words knows.
class Problem {
 public:
  explicit Problem(const test::Scratch& folder) : folder_(folder) {
    std::ofstream vocabulary(folder.file("vocab.txt"));
    for (const char* word : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e",
                             "##s", "good", "bad", "anna", "rome"})
      vocabulary << word << '\n';
  }

  std::unique_ptr<text::Tokenizer> tokenizer() const {
    return text::load_tokenizer(folder_.file("vocab.txt"));
  }

  // The label says which of two words is in the text, in the second one of pairs.
  std::string classes(bool pairs) {
    return write("classes.tsv", [&] {
      const bool good = random_() % 2;
      return filler({good ? "good" : "bad"}) +
             (pairs ? "\t" + filler({good ? "bad" : "good"}) : "") + "\t" + (good ? "yes" : "no") +
             "\n";
    });
  }
  // Which of the two is more often there, and by how much: far from 0, and of another spread
  // than 1.
  std::string numbers() {
    return write("numbers.tsv", [&] {
      Words words;
      int sum = 0;
      for (int i = 0; i < 2; ++i) {
        const bool good = random_() % 2;
        words.push_back(good ? "good" : "bad");
        sum += good ? 1 : -1;
      }
      return fmt::format("{}\t{}\n", filler(words), 100 + 7 * sum);
    });
  }
  std::string tags() {
    return write("tags.conll", [&] {
      std::string text;
      for (size_t i = 0, words = 1 + random_() % 6; i < words; ++i) {
        const char* const known[] = {"anna B-PER", "rome B-LOC", "as O", "b O", "cs O", "good O"};
        text += std::string(known[random_() % 6]) + "\n";
      }
      return text + "\n";
    });
  }

 private:
  std::string filler(Words words) {
    for (size_t i = 0, more = 1 + random_() % 4; i < more; ++i)
      words.insert(words.begin() + static_cast<int64_t>(random_() % (words.size() + 1)),
                   std::string(1, static_cast<char>('a' + random_() % 5)));
    return fmt::format("{}", fmt::join(words, " "));
  }
  template <class Make>
  std::string write(const char* name, const Make& make) {
    std::ofstream file(folder_.file(name));
    for (int i = 0; i < 64; ++i) file << make();
    return folder_.file(name);
  }

  const test::Scratch& folder_;
  std::mt19937 random_{5};
};

inline train::FinetuneConfig small_task(const std::string& file, train::LabelKind kind,
                                        bool encoder) {
  train::FinetuneConfig c = train::finetune_defaults();
  ModelConfig& model = c.run.model;
  model.architecture = encoder ? &bert_architecture() : &gpt_architecture();
  if (encoder) {
    model.norm_placement = NormPlacement::post;
    model.embedding_norm = true;
    model.activation = MlpKind::gelu_erf;
    model.token_types = 2;
  }
  model.vocab_size = 15;
  model.context = 24;
  model.d_model = 32;
  model.n_layers = 2;
  model.n_heads = 2;
  model.init_std = 0.1;
  c.task.kind = kind;
  c.task.columns.text = "1";
  c.task.columns.label = "2";
  c.task.separator = " e ";
  c.run.data.train = c.run.data.validation = {file};
  c.run.train.steps = 80;
  c.run.lr.lr = 3e-3;
  c.run.validation.every = 0;
  c.run.run.log_every = 1000;
  c.run.run.tensorboard = false;
  c.run.run.dir.clear();
  return c;
}

class LabelTasks : public TaskRuns<train::FinetuneConfig> {
 protected:
  std::unique_ptr<train::Task> task(train::FinetuneConfig& c) const override {
    return label_task(c, problem_.tokenizer());
  }

  Problem problem_{folder_};
};

}  // namespace skein::test
