#include "specs.h"

#include <cmath>

#include "skein/models/trunk.h"

namespace skein {
namespace {

LinkScore score_of(LinkScoring scoring) {
  switch (scoring) {
    case LinkScoring::dot: return LinkScore::dot;
    case LinkScoring::gat: return LinkScore::gat;
    case LinkScoring::gat2: return LinkScore::gat2;
    case LinkScoring::mean:
    case LinkScoring::symmetric: break;
  }
  return LinkScore::none;
}

// What both forms have.
LinkAttentionSpec links_of(const ModelConfig& c, double deviation) {
  const GraphOptions& own = graph_options(c);
  LinkAttentionSpec made;
  made.width = c.d_model;
  made.heads = c.n_heads;
  made.head_width = c.head_width();
  made.score = score_of(own.score);
  made.numbers = own.numbers;
  made.bias = c.bias || c.attention_bias;
  made.hops = static_cast<int>(own.hops);
  made.teleport = own.teleport;
  made.in_deviation = made.out_deviation = deviation;
  made.dropout = c.dropout_of_attention();
  made.links_per_row = own.links_per_node;
  if (made.score != LinkScore::none) made.kinds = own.link_kinds;
  if (made.score != LinkScore::none) made.values = own.link_numbers;
  if (const PairNeeds pairs = pair_needs(c); pairs.all) {
    made.kinds = count_of_kinds(pairs);
    made.links_per_row = static_cast<double>(c.context);  // as if all graphs were the largest
  }
  return made;
}

}  // namespace

std::vector<BlockSpec> graph_blocks(const ModelConfig& c, const ModelPiece& piece) {
  const double out = c.init_std / std::sqrt(2.0 * static_cast<double>(c.n_layers));
  LinkAttentionSpec links = links_of(c, c.init_std);
  links.out_deviation = out;
  const MlpSpec mlp{.width = c.d_model,
                    .hidden = c.hidden(),
                    .kind = c.activation,
                    .bias = c.bias,
                    .in_deviation = c.init_std,
                    .out_deviation = out,
                    .dropout = c.activation_dropout};
  std::vector<BlockSpec> made;
  for (int block = piece.first_block; block < piece.last_block; ++block)
    made.push_back(links_and_mlp(links, mlp, norm_spec(c, "", false), c.norm_placement, c.dropout));
  give_skips(made, piece.first_block, c.n_layers, c.stochastic_depth);
  return made;
}

LinkAttentionSpec plain_spec(const ModelConfig& c, int block) {
  const GraphOptions& own = graph_options(c);
  LinkAttentionSpec made = links_of(c, c.init_std);
  made.block = block;
  if (block + 1 < c.n_layers) {
    made.merge = LinkHeads::concatenated;
    // What makes nodes of their categories and numbers is the first layer's product already.
    made.gathers_input = block == 0;
    return made;
  }
  made.merge = LinkHeads::averaged;
  made.heads = own.last_heads > 0 ? own.last_heads : c.n_heads;
  made.head_width = own.vector_width > 0 ? own.vector_width : c.labels;
  return made;
}

PairNeeds pair_needs(const ModelConfig& c) {
  const GraphOptions& own = graph_options(c);
  if (own.form != GraphFormKind::graphormer) return {};
  return {true, own.farthest, own.link_kinds, own.degrees, own.virtual_node};
}

GraphNeeds graph_needs(const ModelConfig& c) {
  const GraphOptions& own = graph_options(c);
  GraphNeeds made{
      .node_ids = own.node_ids, .mean_of_bags = own.mean_of_bags, .pairs = pair_needs(c)};
  if (own.score == LinkScoring::mean) made.weights = LinkWeights::mean;
  if (own.score == LinkScoring::symmetric) made.weights = LinkWeights::symmetric;
  made.drops = c.dropout_of_attention() > 0 || (own.form == GraphFormKind::plain && c.dropout > 0);
  return made;
}

}  // namespace skein
