#include "skein/models/gnn/gnn.h"

#include <cmath>

#include "skein/core/where.h"
#include "skein/models/terms.h"
#include "skein/models/trunk.h"
#include "skein/nn/attention_watcher.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"
#include "skein/ops/math.h"
#include "skein/ops/recompute.h"

#include "specs.h"

namespace skein {

GraphEmbedding::GraphEmbedding(Parameters& parameters, const ModelConfig& c, int chunk)
    : dropout_(c.dropout),
      drops_bags_(graph_options(c).form == GraphFormKind::plain),
      dtype_(parameters.dtype()) {
  const GraphOptions& own = graph_options(c);
  if (own.node_ids > 0) {
    parameters.enter("embedding.nodes", chunk, {Part::embedding});
    table_ = parameters.add({.name = "embedding.nodes.weight",
                             .shape = {own.node_ids, c.d_model},
                             .start = {Start::normal, c.init_std},
                             .meets = RowKind::looked_up});
  }
  if (own.node_numbers > 0) {
    parameters.enter("embedding.numbers", chunk, {Part::embedding});
    numbers_.emplace(parameters,
                     LinearSpec{.name = "embedding.numbers",
                                .inputs = own.node_numbers,
                                .outputs = c.d_model,
                                .deviation = 1 / std::sqrt(static_cast<double>(own.node_numbers))});
  }
  if (own.form == GraphFormKind::graphormer) add_graphormer(parameters, c, chunk);
  if (!c.embedding_norm) return;
  parameters.enter("embedding.rest", chunk, {Part::embedding});
  norm_.emplace(parameters, norm_spec(c, "embedding.norm", false));
}

namespace {

// Of each node its pairs: where rows, columns and bags have them, in three tables, and what one
// layer's backward makes of their scores, weights and numbers.
KeptCost cost_of_pairs(const ModelConfig& c, DType dtype) {
  constexpr double kTables = 3, kIntsOfLink = 5, kMade = 3;
  const double pairs = static_cast<double>(c.context), number = static_cast<double>(size_of(dtype)),
               tables = kTables * kIntsOfLink * sizeof(int32_t),
               made = kMade * static_cast<double>(c.n_heads * size_of(gradient_dtype(dtype)));
  const auto kept = static_cast<int64_t>(std::ceil(pairs * tables / number));
  return {.whole = kept,
          .split = static_cast<int64_t>(std::ceil(pairs * made / number)),
          .input = kept};
}

}  // namespace

void GraphEmbedding::add_graphormer(Parameters& parameters, const ModelConfig& c, int chunk) {
  const auto add = [&](const std::string& name, int64_t rows, RowKind meets) -> Weight {
    parameters.enter(name, chunk, {Part::embedding});
    return parameters.add({.name = name + ".weight",
                           .shape = {rows, c.d_model},
                           .start = {Start::normal, c.init_std},
                           .meets = meets});
  };
  const GraphOptions& own = graph_options(c);
  degrees_ = add("embedding.degrees", 2 * (own.degrees + 1), RowKind::looked_up);
  parameters.add_cost(cost_of_pairs(c, parameters.dtype()));
  if (own.virtual_node) virtual_ = add("embedding.virtual_node", 1, RowKind::none);
}

// In the plain form what is dropped of a bag are its categories, as its authors drop words.
Var GraphEmbedding::of_categories(const IdBags& bags, const Pass& pass) const {
  Var weights(bags.weights);
  if (drops_bags_ && pass.train && dropout_ > 0) {
    const int64_t links = weights.shape()[0];
    const ops::DropoutMask mask{dropout_, pass.dropout_key(-1, 2), bags.keys};
    weights = ops::reshape(ops::dropout(ops::reshape(weights, {links, 1, 1}), mask), {links, 1});
  }
  return sums_of(bags, table_, weights);
}

Var GraphEmbedding::operator()(const GraphInputs& graph, const Pass& pass) const {
  const WhereScope here = WhereScope::part("embedding");
  Var x;
  const auto add = [&](const Var& rows) {  // [B*T,C]
    const Var made =
        ops::reshape(rows, {pass.batch->size(), pass.batch->length(), rows.shape()[1]});
    x = x.defined() ? ops::add(x, made) : made;
  };
  if (table_.defined()) add(of_categories(graph.categories, pass));
  if (numbers_) {
    const Var made = (*numbers_)(Var(ops::converted(pass.batch->features, dtype_)), pass);
    x = x.defined() ? ops::add(x, made) : made;
  }
  if (degrees_.defined()) add(sums_of(graph.degrees, degrees_, Var(graph.degrees.weights)));
  if (virtual_.defined()) x = ops::prepend(virtual_, x);
  if (norm_) x = (*norm_)(x);
  return drops_bags_ ? x : residual_dropout(x, pass, dropout_, -1, 0);
}

PlainLayers::PlainLayers(Parameters& parameters, const ModelConfig& c, const ModelPiece& piece)
    : dropout_(c.dropout), first_(piece.first_block), last_(static_cast<int>(c.n_layers) - 1) {
  for (int block = piece.first_block; block < piece.last_block; ++block) {
    const std::string name = fmt::format("block.{}", block);
    LinkAttentionSpec spec = plain_spec(c, block);
    spec.name = name + ".links";
    // A mean of what enters has no tensors, and a bucket without any cannot be: it counts with the
    // embedding, where that is in the piece, and is done when the next bucket is.
    const bool bare = spec.gathers_input && spec.score == LinkScore::none && !spec.bias;
    const std::vector<BucketSpec>& before = parameters.buckets();
    buckets_.push_back(static_cast<int>(before.size()));
    if (!bare || !before.empty())
      parameters.enter(bare ? before.back().name : name, piece.chunk, {Part::block, block});
    layers_.emplace_back(parameters, spec);
  }
  buckets_.push_back(static_cast<int>(parameters.buckets().size()));
}

namespace {

void tell_watcher(int block, const Var& x, const Pass& pass) {
  if (pass.watcher) pass.watcher->see(SeenStates{block, x.value(), *pass.batch});
}

}  // namespace

// What enters the first layer has been dropped by the embedding.
Var PlainLayers::layer(size_t number, const Var& x, const GraphInputs& graph,
                       const Pass& pass) const {
  const int block = first_ + static_cast<int>(number);
  const std::string name = fmt::format("block.{}", block);
  const WhereScope here = WhereScope::part(name.c_str());
  const Var entered = block == 0 ? x : residual_dropout(x, pass, dropout_, block, 1);
  const Var made = layers_[number](entered, graph, pass);
  return block == last_ ? made : ops::activation(made, ops::Activation::elu);
}

Var PlainLayers::operator()(Var x, const std::shared_ptr<const GraphInputs>& graph,
                            const Pass& pass) const {
  const auto tell = [&](size_t number) {
    if (pass.gradients_done)
      x.on_backward([done = pass.gradients_done, bucket = buckets_[number]] { done(bucket); });
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    tell(i);
    if (pass.recompute == Recompute::none)
      x = layer(i, x, *graph, pass);
    else
      x = ops::recompute({x}, [this, i, graph, pass](const std::vector<Var>& given) {
        return layer(i, given[0], *graph, pass);
      });
    tell_watcher(first_ + static_cast<int>(i), x, pass);
  }
  tell(layers_.size());
  return x;
}

GraphModel::GraphModel(const ModelConfig& c, const ModelPiece& piece, Parameters& parameters)
    : config_(c), dtype_(parameters.dtype()), embeds_(piece.embeds), predicts_(piece.predicts) {
  if (embeds_) embedding_.emplace(parameters, c, piece.chunk);
  if (graph_options(c).form == GraphFormKind::plain)
    plain_.emplace(parameters, c, piece);
  else
    stack_.emplace(parameters, piece.first_block, piece.chunk, graph_blocks(c, piece));
  if (predicts_) add_head(piece.chunk, parameters);
}

void GraphModel::add_head(int chunk, Parameters& parameters) {
  const bool plain = plain_.has_value(), of_graphs = config_.head == Head::sequence;
  const int64_t width = config_.architecture->features(config_);
  if (!plain && config_.norm_placement == NormPlacement::pre) {
    parameters.enter("final_norm", chunk, {Part::final_norm});
    final_norm_.emplace(parameters, norm_spec(config_, "final_norm", false));
  }
  const bool reads = of_graphs && graph_options(config_).pool == GraphPool::attention,
             classifies = !plain || graph_options(config_).vector_width > 0;
  if (!classifies && !reads) return;
  parameters.enter("head", chunk, {Part::label_head});
  const auto product = [&](const char* name, int64_t outputs, RowKind meets) {
    return LinearSpec{.name = name,
                      .inputs = width,
                      .outputs = outputs,
                      .deviation = config_.head_deviation(),
                      .meets = meets};
  };
  if (reads) readout_.emplace(parameters, product("readout", 1, RowKind::tokens));
  if (classifies)
    classifier_.emplace(parameters, product("classifier", config_.labels,
                                            of_graphs ? RowKind::samples : RowKind::places));
}

std::shared_ptr<const GraphInputs> GraphModel::inputs(const Pass& pass) const {
  GraphNeeds needs = graph_needs(config_);
  needs.embeds = embeds_;
  needs.drops = needs.drops && pass.train;
  return tables_.of(*pass.batch, needs, gradient_dtype(dtype_), pass.batch->tokens.device());
}

Flow GraphModel::forward(const Flow& flow, const Pass& pass) const {
  const Pass whole = pass.whole();
  const auto graph = inputs(whole);
  const Var entered = embedding_ ? (*embedding_)(*graph, whole) : flow.only();
  if (embedding_) tell_watcher(-1, entered, whole);
  if (plain_) return (*plain_)(entered, graph, whole);
  const Var x = (*stack_)(entered, whole, {.graph = graph});
  return final_norm_ ? (*final_norm_)(x) : x;
}

std::vector<FlowPart> GraphModel::flow_parts(const Pass& pass) const {
  const int64_t ahead = graph_options(config_).virtual_node ? 1 : 0;
  return {{{pass.batch->size(), ahead + pass.batch->length(), config_.d_model}, dtype_}};
}

std::unique_ptr<Objective> GraphModel::objective() const {
  if (!predicts_) return nullptr;
  return std::make_unique<LabelTerm>(*this);
}

namespace {

// hidden [B,T,C] -> [B,K,C]: one end's numbers weigh those of the other.
Var products_of_pairs(const Var& hidden, const data::Batch& batch) {
  const PairedNodes pairs = pairs_of_graphs(batch, hidden.value().device());
  const int64_t width = hidden.shape()[2], rows = hidden.shape()[0] * hidden.shape()[1];
  const Var first =
      ops::link_pick(ops::reshape(hidden, {rows, width}), pairs.first, ops::LinkEnd::column);
  const Var made = ops::gather_sum(ops::reshape(hidden, {rows, width, 1}), pairs.second, first);
  return ops::reshape(made, {batch.size(), batch.source.links.dim(1), width});
}

}  // namespace

// [B,1,C] of the nodes of each sample, by GraphPool. A virtual node stands for all.
Var GraphModel::pooled(const Var& hidden, const Pass& pass) const {
  if (graph_options(config_).virtual_node) return ops::first_position(hidden);
  const PooledNodes nodes =
      nodes_of_graphs(*pass.batch, gradient_dtype(dtype_), hidden.value().device());
  const Shape& shape = hidden.shape();
  const int64_t rows = shape[0] * shape[1];
  const Var x = ops::reshape(hidden, {rows, 1, shape[2]});
  const GraphPool pool = graph_options(config_).pool;
  if (pool == GraphPool::max)
    return ops::reshape(ops::gather_max(x, nodes.links), {shape[0], 1, shape[2]});
  Var weights;
  if (pool == GraphPool::mean) weights = Var(nodes.weights);
  if (readout_) {
    const Var scores = ops::reshape((*readout_)(hidden, pass), {rows, 1});
    weights =
        ops::link_softmax(ops::link_pick(scores, nodes.links, ops::LinkEnd::column), nodes.links);
  }
  return ops::reshape(ops::gather_sum(x, nodes.links, weights), {shape[0], 1, shape[2]});
}

// Of places, of graphs or of pairs.
Var GraphModel::read(const Var& hidden, const Pass& pass) const {
  const data::Batch& batch = *pass.batch;
  if (batch.source.links.defined()) {
    require(classifier_.has_value(),
            "model.graph_form=plain makes no vectors of nodes to tell pairs by, since "
            "model.vector_width is 0; give model.vector_width=16, or model.graph_form=blocks");
    return products_of_pairs(hidden, batch);
  }
  return config_.head == Head::sequence ? pooled(hidden, pass) : ops::take_places(hidden, batch);
}

Var GraphModel::label_scores(const Var& hidden, const Pass& pass) const {
  const Pass whole = pass.whole();
  const Var nodes = graph_options(config_).virtual_node && config_.head == Head::token
                        ? ops::positions(hidden, 1, hidden.shape()[1] - 1)
                        : hidden,
            seen = read(nodes, whole);
  if (!classifier_) return seen;
  return (*classifier_)(residual_dropout(seen, whole, config_.dropout, -1, 1), whole);
}

}  // namespace skein
