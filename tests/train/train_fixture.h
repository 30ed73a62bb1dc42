// A small training problem, and the whole state a run leaves behind.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/manifest.h"
#include "skein/comm/local.h"
#include "skein/models/bert/bert.h"
#include "skein/train/run_state.h"
#include "skein/train/tasks/language_task.h"

#include "data/masked_fixtures.h"
#include "support/expect_error.h"
#include "support/scratch.h"

namespace skein::train {

// 4000 tokens in documents of at most `longest`.
inline void write_small_store(const std::string& path, size_t longest = 4000) {
  data::TokenStoreWriter writer(path, 64, -1, R"({"type":"bytes","version":1})");
  std::mt19937 random(7);
  std::vector<int32_t> document;
  for (size_t i = 0; i < 4000; ++i) {
    document.push_back(static_cast<int32_t>((random() % 3 + i) % 64));
    if (i + 1 < 4000 && document.size() < longest - i % (longest / 2)) continue;
    writer.add_document(document, static_cast<int64_t>(document.size()));
    document.clear();
  }
  writer.finish();
}

// 20 steps of a GPT of four blocks with dropout.
inline PretrainConfig small_config(const std::string& store) {
  PretrainConfig c;
  c.model.context = 16;
  c.model.d_model = 32;
  c.model.n_layers = 4;
  c.model.n_heads = 4;
  c.model.dropout = 0.1;
  c.train.steps = 20;
  c.train.global_batch = 16;
  c.parallel.reduction_groups = 4;
  c.run.log_every = 1000;
  c.run.tensorboard = false;
  c.checkpoint.async = true;  // what has more to go wrong
  c.data.train = {store};
  return c;
}

// What a step takes, without a store.
inline data::Batch some_batch(int64_t samples, const ModelConfig& model) {
  data::Batch batch;
  batch.tokens = Tensor::zeros({samples, model.context}, DType::i32);
  batch.targets = Tensor::zeros({samples, model.context}, DType::i32);
  batch.positions = Tensor::zeros({samples, model.context}, DType::i32);
  batch.weights =
      Tensor::from(std::vector<float>(static_cast<size_t>(samples * model.context), 1.0f),
                   {samples, model.context});
  batch.sample_ids = Tensor::zeros({samples}, DType::i64);
  for (int64_t i = 0; i < batch.tokens.size(); ++i)
    batch.tokens.data<int32_t>()[i] = static_cast<int32_t>(i * 7 % model.vocab_size);
  return batch;
}

// 20 steps of an encoder of four blocks with dropout, of masked tokens and pairs.
inline PretrainConfig encoder_config(const std::string& store) {
  PretrainConfig c = small_config(store);
  c.data.validation = {store};
  c.model.architecture = &bert_architecture();
  c.model.context = 24;
  c.model.norm_placement = NormPlacement::post;
  c.model.activation = MlpKind::gelu_erf;
  c.model.embedding_norm = bert_options(c.model).pooler = true;
  c.model.token_types = 2;
  c.mlm.pairs = data::PairTask::next;
  c.lr.lr = 5e-3;
  c.lr.warmup = 5;
  c.validation.eval.windows = 20;
  return c;
}

using State = std::map<std::string, std::vector<std::byte>>;

// Every tensor of the newest checkpoint in a run's folder, whole.
inline State state_of(const std::string& run) {
  const auto alone = single_rank();
  const auto info = checkpoint::find_checkpoint(run, *alone);
  State state;
  if (!info) return state;
  const checkpoint::Manifest manifest =
      checkpoint::parse_manifest(read_text(info->path + "/manifest.json"), info->path);
  std::vector<checkpoint::Piece> pieces;
  for (const auto& [name, tensor] : manifest.tensors) {
    const int64_t size = Shape(tensor.shape).size();
    auto& bytes = state[name];
    bytes.resize(static_cast<size_t>(size * size_of(tensor.dtype)));
    pieces.push_back({name, tensor.dtype, tensor.shape,
                      std::vector<int64_t>(tensor.shape.size(), 0), tensor.shape, 0, size,
                      bytes.data()});
  }
  load_checkpoint(*info, pieces, true, *alone);
  return state;
}

// The first tensor that differs, or "".
inline std::string first_difference(const State& left, const State& right) {
  if (left.size() != right.size())
    return fmt::format("{} and {} tensors", left.size(), right.size());
  for (const auto& [name, bytes] : left) {
    const auto other = right.find(name);
    if (other == right.end() || other->second != bytes) return name;
  }
  return "";
}

struct Finished {
  std::vector<double> losses, grad_norms;
  std::map<std::string, double> validation;
  State state;
};

// config, with its run under a fresh folder of `folder`.
inline Finished train(PretrainConfig config, int ranks, const test::Scratch& folder,
                      const std::string& name) {
  config.run.dir = folder.file(name);
  Finished finished;
  run_ranks(ranks, [&](Group& world) {
    const TrainResult own = pretrain(config, world);
    if (world.rank() > 0) return;
    finished.losses = own.losses;
    finished.grad_norms = own.grad_norms;
    finished.validation = {own.validation.values.begin(), own.validation.values.end()};
  });
  finished.state = state_of(config.run.dir);
  return finished;
}

// What the same says when it ends with this code, as it must.
inline std::string training_error(const PretrainConfig& config, int ranks,
                                  const test::Scratch& folder, const std::string& name,
                                  ExitCode code) {
  const std::string text = test::error_text(code, [&] { train(config, ranks, folder, name); });
  EXPECT_NE(text, "") << "no error";
  return text;
}

inline RunState newest_state(const std::string& run) {
  const auto alone = single_rank();
  const auto info = checkpoint::find_checkpoint(run, *alone);
  return run_state(info->metadata, info->path);
}

}  // namespace skein::train
