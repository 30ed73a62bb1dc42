// An encoder-decoder without arithmetic: what follows is a function of a row's source and of its
// tokens so far, in whole numbers, read off the cache that its blocks have filled. So whatever goes
// wrong with rows, columns and memories shows in the tokens.
#pragma once

#include <atomic>
#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/generate/generator.h"
#include "skein/models/architecture.h"

#include "generate/scripted_logits.h"

namespace skein::test {

constexpr int32_t kBehindSource = -7;

// Source, kBehindSource, and the tokens of the target so far.
inline generate::Tokens scripted_tokens(const generate::Tokens& source,
                                        const generate::Tokens& target) {
  generate::Tokens made = source;
  made.push_back(kBehindSource);
  made.insert(made.end(), target.begin(), target.end());
  return made;
}

// Blocks are numbered through; the first half encodes.
class ScriptedMapper : public Model, public Predictor {
 public:
  static constexpr int32_t kEnd = 0;
  // Most memories that a layer has held, and the rows beside them.
  static inline std::atomic<int64_t> most_memories = 0, rows_beside = 0;

  ScriptedMapper(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters)
      : ids_(config.vocab_size), begin_(static_cast<int>(config.n_layers / 2)), piece_(piece) {
    for (int block = piece.first_block; block < piece.last_block; ++block) {
      const std::string name = fmt::format("block.{}", block);
      parameters.enter(name, piece.chunk, {Part::block, block});
      parameters.add({.name = name + ".weight", .shape = {1, 1}, .meets = RowKind::tokens});
    }
    if (!piece.predicts) return;
    parameters.enter("head", piece.chunk, {Part::head});
    head_ = &parameters.add({.name = "head.weight",
                             .shape = {ids_, ids_},
                             .split = Split::vocab,
                             .meets = RowKind::places});
  }

  Flow forward(const Flow& flow, const Pass& pass) const override {
    const bool first = pass.cache->length == 0;
    SKEIN_CHECK(first || !pass.batch->source.tokens.defined());
    std::vector<Var> all(flow.begin(), flow.end());
    if (piece_.embeds && first) all = {Var(as_numbers(pass.batch->source.tokens))};
    if (piece_.last_block <= begin_) return Flow(all);
    if (piece_.first_block <= begin_) all.insert(all.begin(), Var(as_numbers(pass.batch->tokens)));
    SKEIN_CHECK_EQ(all.size(), first ? 2u : 1u);
    for (int block = std::max(begin_, piece_.first_block); block < piece_.last_block; ++block)
      keep(block, all, pass);
    if (piece_.predicts) return Var(logits_of(pass));
    return Flow(all);
  }

  std::vector<FlowPart> flow_parts(const Pass& pass) const override {
    const data::Batch& batch = *pass.batch;
    std::vector<FlowPart> made;
    if (piece_.first_block > begin_)
      made.push_back({{batch.size(), batch.length(), 1}, DType::f32});
    if (pass.cache->length == 0)
      made.push_back({{batch.source.size(), batch.source.length(), 1}, DType::f32});
    return made;
  }
  const Predictor* predictor() const override { return head_ ? this : nullptr; }
  std::unique_ptr<Objective> objective() const override { return nullptr; }
  Var rows(const Var& output, const Pass&) const override { return output; }
  const Parameter& head() const override { return *head_; }

 private:
  static Tensor as_numbers(const Tensor& ids) {
    const Tensor made = Tensor::empty({ids.dim(0), ids.dim(1), 1}, DType::f32);
    std::ranges::copy(ids.span<int32_t>(), made.data<float>());
    return made;
  }

  void keep(int block, const std::vector<Var>& all, const Pass& pass) const {
    KvCache& cache = *pass.cache;
    KvCache::Layer& held = cache.layers.at(static_cast<size_t>(block));
    const auto in_heads = [](const Tensor& x) { return x.reshape({x.dim(0), x.dim(1), 1, 1}); };
    cache.append(block, in_heads(all[0].value()), in_heads(all[0].value()));
    if (cache.length == 0) {
      held.memory_keys = in_heads(all[1].value()).clone();
      held.memory_values = in_heads(all[1].value()).clone();
    }
    most_memories = std::max<int64_t>(most_memories, held.memory_keys.dim(0));
    rows_beside = std::max<int64_t>(rows_beside, held.keys.dim(0));
  }

  Tensor logits_of(const Pass& pass) const {
    const int64_t rows = pass.batch->size();
    const Tensor made = Tensor::empty({rows, ids_}, DType::f32);
    for (int64_t row = 0; row < rows; ++row) {
      const generate::Tokens tokens = tokens_of(row, pass);
      const auto logits = scripted_logits(scripted_state(tokens), ids_, kEnd);
      std::ranges::copy(logits, made.data<float>() + row * ids_);
    }
    return made;
  }

  generate::Tokens tokens_of(int64_t row, const Pass& pass) const {
    const KvCache& cache = *pass.cache;
    const KvCache::Layer& held = cache.layers.at(static_cast<size_t>(piece_.last_block - 1));
    const Tensor &memory = held.memory_values, &segments = cache.memory_segments;
    const int64_t sources = memory.dim(0), places = memory.dim(1), width = cache.width;
    SKEIN_CHECK_EQ(sources * width, pass.batch->size());
    SKEIN_CHECK(!segments.defined() || segments.shape() == (Shape{sources, places}));
    generate::Tokens source, target;
    for (int64_t i = row / width * places; i < (row / width + 1) * places; ++i)
      if (!segments.defined() || segments.data<int32_t>()[i] == 0)
        source.push_back(static_cast<int32_t>(memory.data<float>()[i]));
    const int64_t end = cache.length + pass.batch->length();
    for (int64_t i = cache.first_key.data<int32_t>()[row]; i < end; ++i)
      target.push_back(static_cast<int32_t>(held.keys.data<float>()[row * held.keys.dim(1) + i]));
    return scripted_tokens(source, target);
  }

  int64_t ids_;
  int begin_;  // the decoder's first block
  ModelPiece piece_;
  Parameter* head_ = nullptr;
};

class ScriptedArchitecture : public Architecture {
 public:
  std::string_view name() const override { return "scripted"; }
  std::string_view help() const override { return "maps sources"; }
  void bind(Options&, ModelConfig&) const override {}
  void check(const ModelConfig&) const override {}
  std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece, bool,
                               Parameters& parameters) const override {
    return std::make_unique<ScriptedMapper>(config, piece, parameters);
  }
  RowsPerToken rows_per_token(const ModelConfig&) const override { return {}; }
  bool sees_ahead() const override { return false; }
  bool maps_source(const ModelConfig&) const override { return true; }
  int64_t source_context(const ModelConfig&) const override { return 20; }
  int64_t source_ids(const ModelConfig&) const override { return 50; }
  std::string_view otherwise(const ModelConfig&) const override { return "a script"; }
};

// Of 61 ids, 6 blocks and 200 places of the target.
inline ModelConfig scripted_mapper() {
  static const ScriptedArchitecture architecture;
  ModelConfig made;
  made.architecture = &architecture;
  made.vocab_size = made.d_model = 61;
  made.context = 200;
  made.n_layers = 6;
  made.n_heads = made.d_head = 1;
  return made;
}

struct MappedLayout {
  int ranks = 1;
  int pipeline = 1, chunks = 1;
  std::vector<int64_t> layers = {};  // of each piece
};

// Calls f with a generator on each rank.
template <class F>
void with_mapper(const generate::GenerateConfig& config, const MappedLayout& layout, const F& f) {
  const ModelConfig model = scripted_mapper();
  run_ranks(layout.ranks, [&](Group& world) {
    ParallelConfig parallel;
    parallel.pipeline = layout.pipeline;
    parallel.chunks = layout.chunks;
    parallel.layers = layout.layers;
    Mesh mesh(world, mesh_shape(parallel, layout.ranks));
    LocalModel local(model, parallel, mesh, DType::f32);
    local.parameters().allocate(false);
    local.parameters().initialize(1);
    // Rows are logits already.
    if (const Parameter* head = local.parameters().find("head.weight"))
      for (int64_t id = 0; id < model.vocab_size; ++id)
        head->value.data<float>()[id * (model.vocab_size + 1)] = 1;
    generate::Generator generator(model, local, mesh, config, ScriptedMapper::kEnd);
    f(generator, world);
  });
}

}  // namespace skein::test
