#include "skein/models/memory_network/memory_network.h"

#include "skein/core/where.h"
#include "skein/models/terms.h"
#include "skein/nn/attention_watcher.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"
#include "skein/ops/linear.h"
#include "skein/ops/recompute.h"

namespace skein {
namespace {

// Sums of words [B,T,C] by links of R rows, [R,1,C].
Var sums_of_words(const Var& words, const ops::Links& links, const Tensor& order) {
  const int64_t rows = words.shape()[0] * words.shape()[1], width = words.shape()[2];
  if (!order.defined()) return ops::gather_sum(ops::reshape(words, {rows, 1, width}), links);
  return ops::reshape(ops::gather_sum(ops::reshape(words, {rows, width, 1}), links, Var(order)),
                      {links.row_count(), 1, width});
}

constexpr const char* kQuestionTable = "embedding.words.weight";

std::string block_name(int block, const char* tensor) {
  return fmt::format("block.{}.{}", block, tensor);
}

// Each is alone in its bucket, since most have a second use.
Parameter& added_table(const ModelConfig& c, Parameters& parameters, int chunk, const Part& part,
                       const std::string& name, int64_t rows, std::string tied_to = {}) {
  parameters.enter(tied_to.empty() ? name : name + " again", chunk, part);
  return parameters.add({.name = name,
                         .shape = {rows, c.d_model},
                         .start = {Start::normal, c.init_std},
                         .tied_to = std::move(tied_to),
                         .meets = RowKind::looked_up});
}

}  // namespace

MemoryNetwork::MemoryNetwork(const ModelConfig& c, const ModelPiece& piece, Parameters& parameters)
    : config_(c), dtype_(parameters.dtype()) {
  if (piece.embeds)
    question_ =
        added_table(c, parameters, piece.chunk, {Part::embedding}, kQuestionTable, c.vocab_size);
  for (int block = piece.first_block; block < piece.last_block; ++block)
    hops_.push_back(added_hop(block, piece.chunk, parameters));
  if (!piece.predicts) return;
  const auto last = static_cast<int>(c.n_layers) - 1;
  Parameter& head =
      added_table(c, parameters, piece.chunk, {Part::label_head}, "head.weight", c.vocab_size,
                  c.tie_embeddings ? block_name(last, "output.words.weight") : "");
  head.meets = RowKind::samples;
  head_ = head;
}

MemoryNetwork::Hop MemoryNetwork::added_hop(int block, int chunk, Parameters& parameters) {
  const int64_t memories = memory_options(config_).memories;
  const auto table = [&](const char* name, int64_t rows,
                         const std::string& tied_to = {}) -> Weight {
    return added_table(config_, parameters, chunk, {Part::block, block}, block_name(block, name),
                       rows, tied_to);
  };
  const bool first = block == 0;
  const auto before = [&](const char* name) { return block_name(block - 1, name); };
  const Weight words = table("input.words.weight", config_.vocab_size,
                             first ? kQuestionTable : before("output.words.weight")),
               times = table("input.times.weight", memories,
                             first ? "" : before("output.times.weight")),
               output = table("output.words.weight", config_.vocab_size),
               output_times = table("output.times.weight", memories);
  // Sums of words by two tables; what is looked up and summed is kept.
  parameters.add_cost(
      ScoreCost{.width = config_.d_model, .structure = [](int64_t) { return 1.0; }});
  parameters.add_cost(KeptCost{.whole = 4 * config_.d_model});
  return {block, {words, times}, {output, output_times}};
}

std::vector<FlowPart> MemoryNetwork::flow_parts(const Pass& pass) const {
  return {{{pass.batch->size(), 1, config_.d_model}, dtype_}};
}

// [B*N,1,C]
Var MemoryNetwork::sentences(const Reading& tables, const StoryLinks& story,
                             const data::Batch& batch) const {
  const Var words = ops::embedding(batch.tokens, tables.words, 0),
            sums = sums_of_words(words, story.words, story.words_order),
            times = ops::embedding(story.ages, tables.times, 0);
  return ops::add(sums, ops::reshape(times, sums.shape()));
}

Var MemoryNetwork::after(const Hop& hop, const Var& u, const StoryLinks& story,
                         const Pass& pass) const {
  const std::string name = block_name(hop.block, "hop");
  const WhereScope here = WhereScope::part(name.c_str());
  const Var inputs = sentences(hop.input, story, *pass.batch),
            outputs = sentences(hop.output, story, *pass.batch),
            scores = ops::link_dot(u, inputs, story.remembered, 1),
            weights = memory_options(config_).weights == HopWeights::linear
                          ? scores
                          : ops::link_softmax(scores, story.remembered);
  if (pass.watcher)
    pass.watcher->see(SeenLinks{hop.block, weights.value(), story.remembered, *pass.batch});
  return ops::add(u, ops::gather_sum(outputs, story.remembered, weights));
}

Flow MemoryNetwork::forward(const Flow& flow, const Pass& pass) const {
  const data::Batch& batch = *pass.batch;
  const MemoryOptions& own = memory_options(config_);
  const StoryLinks story = story_links(batch, own.memories, own.word_order ? config_.d_model : 0,
                                       gradient_dtype(dtype_));
  Var u = question_ ? sums_of_words(ops::embedding(batch.tokens, *question_, 0), story.question,
                                    story.question_order)
                    : flow.only();
  for (const Hop& hop : hops_)
    u = pass.recompute == Recompute::none
            ? after(hop, u, story, pass)
            : ops::recompute({u}, [this, &hop, story, pass](const std::vector<Var>& given) {
                return after(hop, given[0], story, pass);
              });
  return u;
}

Var MemoryNetwork::label_scores(const Var& u, const Pass& /*pass*/) const {
  return ops::linear(u, *head_, {});
}

std::unique_ptr<Objective> MemoryNetwork::objective() const {
  if (!head_) return nullptr;
  return std::make_unique<LabelTerm>(*this);
}

}  // namespace skein
