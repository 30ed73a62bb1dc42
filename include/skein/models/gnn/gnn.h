// Models of graphs: nodes attend to those that they are linked to (nn/link_attention.h), and tell
// classes or numbers of nodes or of whole graphs.
//
// Tensors, by global name (C = d_model; V ids and K numbers of nodes):
//   embedding.nodes.weight [V,C]
//   embedding.numbers.weight [C,K], .bias [C]
// graph_form=blocks, as gpt.h has them, with block.N.links... instead of block.N.attention...:
//   final_norm.gain/bias [C] (pre-norm)
//   classifier.weight [labels,C], .bias [labels]
// graph_form=graphormer, besides, with D = degrees + 1:
//   embedding.degrees.weight [2D,C]
//   embedding.virtual_node.weight [1,C] (virtual_node)
//   and block.N.links.kinds.weight is of what pairs of nodes are (nn/graph_inputs.h)
// graph_form=plain: block.N.links... alone; the last one's heads have `labels` numbers each, and of
//   the first one the embedding is the product v. With vector_width W they have W numbers each, and
//   there are classifier.weight [labels,W] and .bias [labels].
// Of each form, with labels of graphs and graph_pool=attention:
//   readout.weight [1,F], .bias [1], F being the numbers that are pooled: C, of plain vector_width
//   or, where that is 0, labels
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "skein/data/graphs/graph_form.h"
#include "skein/models/architecture.h"
#include "skein/models/model.h"
#include "skein/nn/graph_inputs.h"

namespace skein {

// blocks: norms, residual sums and feed-forward layers, as transformers have them. plain: layers of
// links alone with ELU between them, as graph attention networks are (Veličković and others, 2018).
// graphormer: blocks whose nodes attend to all of their graph, by distance (Ying and others, 2021);
// each block has numbers of distances of its own, where the paper's share them.
enum class GraphFormKind { blocks, plain, graphormer };
// By what nodes weigh those that they gather from: learnt scores, or all alike, or by how many
// links both ends have (nn/link_attention.h).
enum class LinkScoring { dot, gat, gat2, mean, symmetric };
enum class GraphPool { mean, sum, max, attention };

struct GraphOptions {
  GraphFormKind form = GraphFormKind::blocks;
  LinkScoring score = LinkScoring::dot;
  LinkNumbers numbers = LinkNumbers::added;
  int64_t hops = 0;
  double teleport = 0.1;
  int64_t last_heads = 0;  // plain: of the last layer; 0: model.n_heads
  // plain: numbers of a node's vector, which the last layer makes and a head reads; 0: it makes the
  // labels, and there is no head
  int64_t vector_width = 0;
  bool mean_of_bags = false;
  GraphPool pool = GraphPool::mean;
  // Of graphormer, as PairNeeds says; whole graphs are read by their virtual node where they have
  // one.
  int64_t farthest = 20, degrees = 64;
  bool virtual_node = false;
  // Of the data: 0 where they have none, or where nobody has said.
  int64_t node_ids = 0, node_numbers = 0, link_kinds = 0, link_numbers = 0;
  // Of the data too, and no option: links for each node of the largest sample, by which work and
  // memory are foreseen. 0 where no data have said, and links are not counted.
  double links_per_node = 0;

  bool operator==(const GraphOptions&) const = default;
};

inline GraphOptions& graph_options(ModelConfig& config) { return config.own.get<GraphOptions>(); }
inline const GraphOptions& graph_options(const ModelConfig& config) {
  return config.own.get<GraphOptions>();
}

// From categories, numbers and degrees of nodes to the first hidden states.
class GraphEmbedding {
 public:
  GraphEmbedding(Parameters& parameters, const ModelConfig& config, int chunk);
  // [B,N,C], N as GraphInputs has it.
  Var operator()(const GraphInputs& graph, const Pass& pass) const;

 private:
  void add_graphormer(Parameters& parameters, const ModelConfig& config, int chunk);
  Var of_categories(const IdBags& bags, const Pass& pass) const;

  double dropout_;
  bool drops_bags_;
  DType dtype_;
  Weight table_, degrees_, virtual_;
  std::optional<Linear> numbers_;
  std::optional<NormLayer> norm_;
};

// Layers of links without anything else: x = ELU(links(dropout(x))), but for the last one's ELU.
class PlainLayers {
 public:
  PlainLayers(Parameters& parameters, const ModelConfig& config, const ModelPiece& piece);
  Var operator()(Var x, const std::shared_ptr<const GraphInputs>& graph, const Pass& pass) const;

 private:
  Var layer(size_t number, const Var& x, const GraphInputs& graph, const Pass& pass) const;

  double dropout_;
  int first_, last_;  // numbers of the piece's first layer, and of the model's last
  std::vector<LinkAttention> layers_;
  std::vector<int> buckets_;
};

class GraphModel : public Model, public Scorer {
 public:
  // parameters outlives the model and receives its tensors.
  GraphModel(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters);
  // The last piece gives hidden states [B,N,C], N as GraphInputs has it, normed where norms stand
  // before each half block; of the plain form scores [B,T,labels], or vectors [B,T,vector_width].
  Flow forward(const Flow& flow, const Pass& pass) const override;
  std::vector<FlowPart> flow_parts(const Pass& pass) const override;
  const Scorer* scorer() const override { return predicts_ ? this : nullptr; }
  std::unique_ptr<Objective> objective() const override;
  // [B,P,labels] at the places of nodes, or [B,1,labels] of graphs. Where the batch has
  // source.links [B,K,2], pairs of nodes in any order, -1 behind those that a sample has,
  // [B,K,labels] of these: of the products of both ends' hidden states, number by number.
  Var label_scores(const Var& hidden, const Pass& pass) const override;

 private:
  std::shared_ptr<const GraphInputs> inputs(const Pass& pass) const;
  void add_head(int chunk, Parameters& parameters);
  Var pooled(const Var& hidden, const Pass& pass) const;
  Var read(const Var& hidden, const Pass& pass) const;

  ModelConfig config_;
  DType dtype_;
  bool embeds_, predicts_;
  KeptGraphInputs tables_;
  std::optional<GraphEmbedding> embedding_;
  std::optional<Stack> stack_;
  std::optional<PlainLayers> plain_;
  std::optional<NormLayer> final_norm_;
  std::optional<Linear> readout_, classifier_;
};

const Architecture& gnn_architecture();

}  // namespace skein
