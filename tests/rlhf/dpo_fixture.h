// A small policy to begin from, and pairs of answers for it.
#pragma once

#include <fstream>
#include <gtest/gtest.h>
#include <tuple>

#include "skein/core/json.h"
#include "skein/rlhf/dpo/task.h"
#include "skein/train/chats/sft.h"

#include "rlhf/reward_model_fixture.h"

namespace skein::rlhf {

inline ModelConfig small_policy() {
  ModelConfig model;
  model.vocab_size = 257;
  model.context = 24;
  model.d_model = 32;
  model.n_layers = 2;
  model.n_heads = 2;
  model.init_std = 0.1;
  return model;
}

// The folder of a policy that has seen a few answers.
inline std::string write_policy(const test::Scratch& folder, const std::string& name = "start",
                                int64_t steps = 10) {
  std::ofstream file(folder.file(name + ".jsonl"));
  for (const char* answer : {"a", "b b", "c d", "d"})
    file << nlohmann::json{{"prompt", "ask"}, {"completion", answer}}.dump() << '\n';
  file.close();
  train::SftConfig c = train::sft_defaults();
  c.run.model = small_policy();
  c.run.data.train = {folder.file(name + ".jsonl")};
  c.chat.form = "none";
  c.run.train.global_batch = 1;
  c.run.train.steps = steps;
  c.run.lr.lr = 1e-3;
  c.run.run.log_every = 1000;
  c.run.run.tensorboard = false;
  c.run.run.dir = folder.file(name);
  run_ranks(1, [&](Group& world) {
    train::SftConfig own = c;
    const auto task = sft_task(own, text::byte_tokenizer(), {});
    train::train(own.run, *task, world);
  });
  return folder.file(name);
}

inline dpo::DpoTuneConfig small_dpo(const std::string& policy) {
  dpo::DpoTuneConfig c = dpo::dpo_defaults();
  c.run.model = small_policy();
  c.run.checkpoint.load = policy;
  c.task.chat_template = "none";
  c.run.train.global_batch = 16;
  c.run.lr.lr = 1e-3;
  c.run.validation.every = 0;
  c.run.run.log_every = 1000;
  c.run.run.tensorboard = false;
  return c;
}

struct TunedByPairs {
  std::vector<double> losses, grad_norms;
  train::Scores validation;
  train::State state;
  std::string notes;
  std::vector<nlohmann::json> metrics;
};

inline TunedByPairs tune_by_pairs(dpo::DpoTuneConfig c, const test::Scratch& folder, int ranks,
                                  const std::string& name) {
  c.run.run.dir = folder.file(name);
  TunedByPairs tuned;
  run_ranks(ranks, [&](Group& world) {
    dpo::DpoTuneConfig own = c;
    const auto reference = checkpoint::find_checkpoint(c.run.checkpoint.load, world);
    dpo::DpoTask task(own, text::byte_tokenizer(), {});
    if (has_reference(own.task.rules.loss.kind)) task.ask_reference(own.run, *reference, world);
    const train::TrainResult result = train::train(own.run, task, world);
    if (world.rank() == 0)
      tuned = {result.losses, result.grad_norms, result.validation, {}, task.notes().text(), {}};
  });
  tuned.state = train::state_of(folder.file(name));
  std::ifstream file(folder.file(name) + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);)
    tuned.metrics.push_back(nlohmann::json::parse(line));
  return tuned;
}

// Runs at other data- and pipeline-parallel sizes and micro-batches have the bits of `expected`,
// which one rank made of the same config under that name.
inline void expect_equal_at_every_layout(dpo::DpoTuneConfig c, const test::Scratch& folder,
                                         const std::string& name, const TunedByPairs& expected) {
  for (const auto& [data, pipeline, micro] :
       {std::tuple{1, 1, 16}, {2, 1, 2}, {1, 2, 8}, {2, 2, 1}}) {
    c.run.parallel.pipeline = pipeline;
    c.run.parallel.zero = data == 2;
    c.run.train.micro_batch = micro;
    const std::string other = fmt::format("{}_{}{}{}", name, data, pipeline, micro);
    const TunedByPairs found = tune_by_pairs(c, folder, data * pipeline, other);
    EXPECT_EQ(found.losses, expected.losses) << other;
    EXPECT_EQ(found.grad_norms, expected.grad_norms) << other;
    EXPECT_EQ(train::first_difference(found.state, expected.state), "") << other;
    EXPECT_EQ(found.validation.values, expected.validation.values) << other;
    EXPECT_EQ(found.notes, expected.notes) << other;
  }
}

inline std::string drawn_answer(Chance& chance, char better) {
  std::string answer(1, better);
  for (int i = 0, more = chance.below(3); i < more; ++i)
    answer += static_cast<char>('a' + chance.below(6));
  return answer;
}

// Answers that begin with g are better than those that begin with h.
inline std::string write_preferred(const std::string& path, int count, uint64_t seed) {
  Chance chance(seed);
  std::ofstream file(path);
  for (int i = 0; i < count; ++i)
    file << nlohmann::json{{"prompt", std::string(static_cast<size_t>(i % 4), 'p') + "ask"},
                           {"chosen", drawn_answer(chance, 'g')},
                           {"rejected", drawn_answer(chance, 'h')}}
                .dump()
         << '\n';
  return path;
}

}  // namespace skein::rlhf
