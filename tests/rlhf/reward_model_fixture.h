// A small reward problem: answers of words whose worth is known.
#pragma once

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

#include "skein/core/json.h"
#include "skein/core/philox.h"
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/rlhf/rewards/reward_model.h"
#include "skein/rlhf/rewards/reward_task.h"

#include "train/train_fixture.h"

namespace skein::rlhf {

// Words of one token each, with the tokens that stand around a text for encoders.
inline void write_vocabulary(const test::Scratch& folder) {
  std::ofstream(folder.file("vocab.txt"))
      << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\ne\nf\nask\n";
}

// Random numbers that a test draws one after the other.
class Chance {
 public:
  explicit Chance(uint64_t seed) : seed_(seed) {}
  double uniform() {
    const PhiloxBlock bits = philox(seed_, 0, next_++);
    return uniform_double(bits[0], bits[1]);
  }
  int below(int size) { return static_cast<int>(uniform() * size); }

 private:
  uint64_t seed_, next_ = 0;
};

inline rewards::RewardConfig small_reward(bool encoder = false) {
  rewards::RewardConfig c = rewards::reward_defaults();
  ModelConfig& model = c.run.model;
  model.architecture = encoder ? &bert_architecture() : &gpt_architecture();
  if (encoder) {
    model.norm_placement = NormPlacement::post;
    model.embedding_norm = true;
    model.activation = MlpKind::gelu_erf;
    model.token_types = 2;
  }
  model.vocab_size = encoder ? 12 : 257;
  model.context = 24;
  model.d_model = 32;
  model.n_layers = 2;
  model.n_heads = 2;
  model.init_std = 0.1;
  c.run.train.global_batch = 16;
  c.run.lr.lr = 3e-3;
  c.run.validation.every = 0;
  c.run.run.log_every = 1000;
  c.run.run.tensorboard = false;
  c.run.run.dir.clear();
  return c;
}

struct Trained {
  std::vector<double> losses, grad_norms;
  train::Scores validation;
  rewards::PreferenceReport report;
  train::State state;
  std::string notes;
};

// Of words for encoders, of bytes for decoders; or the one of `json`.
inline std::unique_ptr<text::Tokenizer> reward_tokenizer(const rewards::RewardConfig& c,
                                                         const test::Scratch& folder,
                                                         const std::string& json) {
  if (!json.empty()) return text::tokenizer_from_json(json);
  return c.run.model.architecture == &bert_architecture()
             ? text::load_tokenizer(folder.file("vocab.txt"))
             : text::byte_tokenizer();
}

// A run under `folder`.
inline Trained train_reward(rewards::RewardConfig c, const test::Scratch& folder, int ranks = 1,
                            const std::string& name = "", const std::string& tokenizer = "") {
  c.run.run.dir = name.empty() ? "" : folder.file(name);
  Trained trained;
  write_vocabulary(folder);
  run_ranks(ranks, [&](Group& world) {
    rewards::RewardConfig own = c;
    rewards::RewardTask task(own, reward_tokenizer(own, folder, tokenizer), {});
    const train::TrainResult result = train::train(own.run, task, world);
    if (world.rank() == 0)
      trained = {result.losses, result.grad_norms, result.validation, task.report(), {}, {}};
  });
  if (name.empty()) return trained;
  trained.state = train::state_of(folder.file(name));
  const auto alone = single_rank();
  trained.notes = nlohmann::json::parse(
                      checkpoint::find_checkpoint(folder.file(name), *alone)->metadata)["notes"]
                      .dump();
  return trained;
}

}  // namespace skein::rlhf
