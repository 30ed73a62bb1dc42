#include "skein/data/graphs/positions.h"
#include "skein/models/gnn/gnn.h"

#include "models/limits.h"
#include "specs.h"

namespace skein {
namespace {

constexpr int64_t kMostHeads = 4096, kMostHops = 1000;
// Distances of stores end at data::kFarthest.
constexpr int64_t kMostFarthest = data::kFarthest - 1, kMostDegrees = 65535;

class GraphArchitecture : public Architecture {
 public:
  std::string_view name() const override { return "graph"; }
  std::string_view help() const override { return "reads the nodes and links of graphs"; }

  void bind(Options& options, ModelConfig& config) const override;
  void check(const ModelConfig& config) const override;
  std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                               bool /*sequence_parallel*/, Parameters& parameters) const override {
    return std::make_unique<GraphModel>(config, piece, parameters);
  }
  RowsPerToken rows_per_token(const ModelConfig& c) const override {
    return {.places = c.head == Head::token ? 1.0 : 0.0};
  }
  Reads reads() const override { return Reads::graphs; }
  int64_t features(const ModelConfig& c) const override {
    const GraphOptions& own = graph_options(c);
    if (own.form != GraphFormKind::plain) return c.d_model;
    return own.vector_width > 0 ? own.vector_width : c.labels;
  }
  data::GraphUses graph_uses(const ModelConfig& c) const override {
    const LinkScoring score = graph_options(c).score;
    return {.link_parts = score != LinkScoring::mean && score != LinkScoring::symmetric,
            .distances = pair_needs(c).all};
  }
  void take_graphs(ModelConfig& config, const data::GraphSizes& sizes) const override;
  bool sees_ahead() const override { return true; }
  std::string_view otherwise(const ModelConfig&) const override { return "one that reads graphs"; }
  std::vector<std::string> options_of_heads() const override { return {"model.graph_pool"}; }
  std::vector<IdleOption> idle_options(const ModelConfig& config) const override;

 private:
  void check_own(const ModelConfig& config) const;
  void check_plain(const ModelConfig& config) const;
  void check_graphormer(const ModelConfig& config) const;
};

std::vector<Architecture::IdleOption> GraphArchitecture::idle_options(const ModelConfig& c) const {
  const GraphOptions& own = graph_options(c);
  std::vector<IdleOption> idle;
  if (own.form == GraphFormKind::plain)
    for (const char* key : {"model.d_ff", "model.norm", "model.norm_placement",
                            "model.norm_epsilon", "model.activation"})
      idle.emplace_back(key, "model.graph_form=blocks and graphormer");
  if (own.hops == 0) idle.emplace_back("model.teleport", "model.hops above 0");
  if (c.head != Head::sequence) idle.emplace_back("model.graph_pool", "labels of whole graphs");
  if (own.link_kinds == 0 && own.link_numbers == 0)
    idle.emplace_back("model.link_numbers_are", "links with categories or numbers");
  return idle;
}

void bind_graphormer(Options& options, GraphOptions& c) {
  options.add("model.farthest", c.farthest,
              "graph_form=graphormer: up to how many links between two nodes each number of them "
              "counts by itself; all beyond are alike");
  options.add("model.degrees", c.degrees,
              "graph_form=graphormer: nodes of so many links and of more are alike");
  options.add("model.virtual_node", c.virtual_node,
              "graph_form=graphormer: each graph gets one more node, which is linked to all, and "
              "by which whole graphs are read");
}

void bind_sizes(Options& options, GraphOptions& c) {
  options.add("model.node_ids", c.node_ids, "graph: categories of nodes; 0: the data's");
  options.add("model.node_numbers", c.node_numbers, "graph: numbers a node; 0: the data's");
  options.add("model.link_kinds", c.link_kinds, "graph: categories of links; 0: the data's");
  options.add("model.link_numbers", c.link_numbers, "graph: numbers a link; 0: the data's");
}

void GraphArchitecture::bind(Options& options, ModelConfig& config) const {
  GraphOptions& c = graph_options(config);
  options.add_choice("model.graph_form", c.form,
                     {{"blocks", GraphFormKind::blocks},
                      {"plain", GraphFormKind::plain},
                      {"graphormer", GraphFormKind::graphormer}},
                     "graph: blocks with norms, residual sums and feed-forward layers, or layers "
                     "of links alone with ELU between them, as GAT has them, or blocks whose nodes "
                     "see all of their graph, by distance");
  options.add_choice("model.link_score", c.score,
                     {{"dot", LinkScoring::dot},
                      {"gat", LinkScoring::gat},
                      {"gat2", LinkScoring::gat2},
                      {"mean", LinkScoring::mean},
                      {"symmetric", LinkScoring::symmetric}},
                     "graph: by what nodes weigh their neighbours: products of queries and keys, "
                     "GAT's or GATv2's scores, all alike, or by 1 / sqrt of the links at both ends "
                     "(GCN)");
  options.add_choice("model.link_numbers_are", c.numbers,
                     {{"added", LinkNumbers::added}, {"multiplied", LinkNumbers::multiplied}},
                     "graph: what the numbers that are made of links do to their scores");
  options.add("model.hops", c.hops,
              "graph: how often weights of links are applied one after the other (diffusion); 0: "
              "once, without teleport");
  options.add("model.teleport", c.teleport, "graph: part of each hop that is its beginning");
  options.add("model.last_heads", c.last_heads,
              "graph_form=plain: heads of the last layer, whose mean is taken; 0: model.n_heads");
  options.add("model.vector_width", c.vector_width,
              "graph_form=plain: numbers of a node's vector, of which a head makes the labels; 0: "
              "the last layer makes them itself");
  options.add_choice("model.bags", c.mean_of_bags, {{"sum", false}, {"mean", true}},
                     "graph: what a node gets of its categories' vectors");
  options.add_choice(
      "model.graph_pool", c.pool,
      {{"mean", GraphPool::mean},
       {"sum", GraphPool::sum},
       {"max", GraphPool::max},
       {"attention", GraphPool::attention}},
      "graph: what a whole graph is read by: the mean of its nodes, their sum, of each number the "
      "largest, or their sum by weights that a score of each makes");
  bind_graphormer(options, c);
  bind_sizes(options, c);
}

void GraphArchitecture::take_graphs(ModelConfig& config, const data::GraphSizes& sizes) const {
  GraphOptions& own = graph_options(config);
  const auto take = [](const char* key, int64_t& mine, int64_t theirs) {
    require(mine == 0 || mine == theirs, "model.{}={}, but the graphs have {}; leave it out", key,
            mine, theirs);
    mine = theirs;
  };
  take("node_ids", own.node_ids, sizes.node_ids);
  take("node_numbers", own.node_numbers, sizes.node_numbers);
  take("link_kinds", own.link_kinds, sizes.link_kinds);
  take("link_numbers", own.link_numbers, sizes.link_numbers);
  require(config.context == ModelConfig{}.context || config.context == sizes.nodes,
          "model.context={}, but the largest of these graphs has {} nodes; leave it out",
          config.context, sizes.nodes);
  config.context = std::max<int64_t>(1, sizes.nodes);
  own.links_per_node = sizes.links_per_node;
}

void GraphArchitecture::check_plain(const ModelConfig& c) const {
  const GraphOptions& own = graph_options(c);
  if (own.form != GraphFormKind::plain) {
    require(own.last_heads == 0 && own.vector_width == 0,
            "model.last_heads={} and model.vector_width={} are for model.graph_form=plain; leave "
            "them out",
            own.last_heads, own.vector_width);
    return;
  }
  for (const auto& [key, value] :
       {std::pair("last_heads", own.last_heads), std::pair("vector_width", own.vector_width)})
    require(value >= 0 && value <= kMostHeads, "model.{}={} must be 0 to {}", key, value,
            kMostHeads);
  require(c.d_model == c.n_heads * c.head_width(),
          "model.graph_form=plain puts heads beside each other, so model.d_model={} must be "
          "model.n_heads={} times model.d_head={}",
          c.d_model, c.n_heads, c.head_width());
  require(c.stochastic_depth == 0 && c.activation_dropout == 0 && !c.embedding_norm,
          "model.stochastic_depth={}, activation_dropout={} and embedding_norm are for "
          "model.graph_form=blocks; leave them out",
          c.stochastic_depth, c.activation_dropout);
}

void GraphArchitecture::check_graphormer(const ModelConfig& c) const {
  const GraphOptions& own = graph_options(c);
  if (own.form != GraphFormKind::graphormer) {
    const GraphOptions none;
    require(own.farthest == none.farthest && own.degrees == none.degrees && !own.virtual_node,
            "model.farthest={}, degrees={} and virtual_node={} are for "
            "model.graph_form=graphormer; leave them out",
            own.farthest, own.degrees, own.virtual_node);
    return;
  }
  require(own.farthest >= 1 && own.farthest <= kMostFarthest, "model.farthest={} must be 1 to {}",
          own.farthest, kMostFarthest);
  require(own.degrees >= 0 && own.degrees <= kMostDegrees, "model.degrees={} must be 0 to {}",
          own.degrees, kMostDegrees);
  require(graph_uses(c).link_parts && own.numbers == LinkNumbers::added,
          "model.graph_form=graphormer adds to scores what distances make; leave out "
          "model.link_score=mean or symmetric and model.link_numbers_are=multiplied");
  require(own.link_numbers == 0,
          "model.graph_form=graphormer reads categories of links, but no numbers of theirs "
          "(model.link_numbers={}); name the other columns in graph.inputs",
          own.link_numbers);
  require(count_of_kinds(pair_needs(c)) <= kMostIds,
          "model.farthest={} times model.link_kinds={} are more than {} kinds of links of paths",
          own.farthest, own.link_kinds, kMostIds);
  require(!own.virtual_node || own.pool == GraphPool::mean,
          "model.virtual_node=true has whole graphs read by that node; leave model.graph_pool out");
}

void GraphArchitecture::check_own(const ModelConfig& c) const {
  const GraphOptions& own = graph_options(c);
  for (const auto& [key, value] :
       {std::pair("node_ids", own.node_ids), std::pair("node_numbers", own.node_numbers),
        std::pair("link_kinds", own.link_kinds), std::pair("link_numbers", own.link_numbers)})
    require(value >= 0 && value <= kMostIds, "model.{}={} must be 0 to {}", key, value, kMostIds);
  require(own.node_ids > 0 || own.node_numbers > 0,
          "model.node_ids and model.node_numbers are both 0: there is nothing to make nodes of");
  require(own.hops >= 0 && own.hops <= kMostHops, "model.hops={} must be 0 to {}", own.hops,
          kMostHops);
  require(own.teleport >= 0 && own.teleport <= 1, "model.teleport={} must be in [0, 1]",
          own.teleport);
  const bool scores = graph_uses(c).link_parts;
  require(scores || (own.link_kinds == 0 && own.link_numbers == 0),
          "model.link_score=mean and symmetric have no scores, so that model.link_kinds={} and "
          "model.link_numbers={} have no place in them; leave them out, or take dot, gat or gat2",
          own.link_kinds, own.link_numbers);
}

void GraphArchitecture::check(const ModelConfig& c) const {
  check_own(c);
  check_plain(c);
  check_graphormer(c);
  require(c.head != Head::vocabulary,
          "model.architecture=graph gives labels of nodes or graphs; give model.head=token or "
          "model.head=sequence");
  require(c.vocab_size == 0 && c.token_types == 0 && c.position_offset == 0 &&
              !c.scale_embeddings && c.sinusoids == kernels::Sinusoid::halves &&
              c.positions == Positions::learned && c.n_kv_heads == c.n_heads * (c.n_kv_heads > 0),
          "model.vocab_size, token_types, position_offset, scale_embeddings, sinusoids, positions "
          "and n_kv_heads are for models that read texts; leave them out with "
          "model.architecture=graph");
}

}  // namespace

const Architecture& gnn_architecture() {
  static const GraphArchitecture only;
  return only;
}

}  // namespace skein
