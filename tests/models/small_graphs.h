// Small batches of graphs, and models that read them.
#pragma once

#include <algorithm>
#include <vector>

#include "skein/models/gnn/gnn.h"

#include "support/gradient_check.h"

namespace skein::test {

inline constexpr int64_t kGraphIds = 9, kGraphNumbers = 2, kGraphLinkKinds = 3;

// A link in each direction of a ring, one more, and self loops; a graph of fewer nodes has none of
// those that lead out of it.
inline std::vector<std::pair<int32_t, int32_t>> ring_links(int32_t nodes) {
  std::vector<std::pair<int32_t, int32_t>> made;
  for (int32_t node = 0; node < nodes; ++node)
    for (int32_t other = 0; other < nodes; ++other)
      if (node == other || (node + 1) % nodes == other || (other + 1) % nodes == node ||
          (node == 0 && other == 2))
        made.emplace_back(node, other);
  return made;
}

// Of one node above and two below each, in both directions: there is one path between any two.
inline std::vector<std::pair<int32_t, int32_t>> tree_links(int32_t nodes) {
  std::vector<std::pair<int32_t, int32_t>> made;
  for (int32_t node = 0; node < nodes; ++node)
    for (int32_t other = 0; other < nodes; ++other)
      if (node != other &&
          ((node > 0 && (node - 1) / 2 == other) || (other > 0 && (other - 1) / 2 == node)))
        made.emplace_back(node, other);
  return made;
}

// Gives a batch the lengths of shortest paths from each node to those that it gathers from, by
// trying every node as the one between any two.
inline void take_distances(data::Batch& batch) {
  const int64_t length = batch.length(), most = batch.links.dim(1);
  batch.distances = Tensor::from(std::vector<int32_t>(batch.size() * length * length, -1),
                                 {batch.size(), length, length});
  for (int64_t g = 0; g < batch.size(); ++g) {
    const int64_t nodes = batch.lengths.data<int32_t>()[g];
    int32_t* const d = batch.distances.data<int32_t>() + g * length * length;
    for (int64_t i = 0; i < nodes; ++i)
      for (int64_t j = 0; j < nodes; ++j) d[i * length + j] = i == j ? 0 : 255;
    const int32_t* end = batch.links.data<int32_t>() + g * most * 2;
    for (int64_t link = 0; link < most; ++link)
      if (end[2 * link] >= 0 && end[2 * link] != end[2 * link + 1])
        d[end[2 * link] * length + end[2 * link + 1]] = 1;
    for (int64_t k = 0; k < nodes; ++k)
      for (int64_t i = 0; i < nodes; ++i)
        for (int64_t j = 0; j < nodes; ++j)
          d[i * length + j] = std::min(d[i * length + j], d[i * length + k] + d[k * length + j]);
  }
}

struct GraphBatchForm {
  std::vector<int32_t> nodes{5, 3};  // of each graph
  bool of_nodes = true;
  int64_t length = 6;
  int64_t first_id = 4;  // of samples
  bool trees = false;    // else rings
};

// Where a graph is in a batch hangs on nothing but its own number.
inline data::Batch graph_batch(const GraphBatchForm& form = {}) {
  constexpr int64_t kLinks = 24, kBag = 2, kPlaces = 2;
  const auto graphs = std::ssize(form.nodes);
  data::Batch made = data::padded_batch(
      graphs, {.length = form.length, .places = form.of_nodes ? kPlaces : 1, .segments = true});
  made.links = Tensor::from(std::vector<int32_t>(graphs * kLinks * 2, -1), {graphs, kLinks, 2});
  made.link_kinds = data::filled(graphs, kLinks, -1);
  made.link_values = Tensor::zeros({graphs, kLinks, 1}, DType::f32);
  made.bags = Tensor::from(std::vector<int32_t>(graphs * form.length * kBag, -1),
                           {graphs, form.length, kBag});
  made.features = Tensor::zeros({graphs, form.length, kGraphNumbers}, DType::f32);
  for (int64_t g = 0; g < graphs; ++g) {
    const int32_t nodes = form.nodes[static_cast<size_t>(g)];
    const int64_t id = form.first_id + g;
    made.sample_ids.data<int64_t>()[g] = id;
    made.lengths.data<int32_t>()[g] = nodes;
    int64_t link = g * kLinks;
    for (const auto& [row, column] : form.trees ? tree_links(nodes) : ring_links(nodes)) {
      made.links.data<int32_t>()[2 * link] = row;
      made.links.data<int32_t>()[2 * link + 1] = column;
      made.link_kinds.data<int32_t>()[link] =
          static_cast<int32_t>((row + 2 * column + id) % kGraphLinkKinds);
      made.link_values.data<float>()[link++] = 0.1F * static_cast<float>(row - column);
    }
    for (int32_t node = 0; node < nodes; ++node) {
      const int64_t row = g * form.length + node;
      made.segments.data<int32_t>()[row] = 0;
      for (int64_t i = 0; i <= node % 2; ++i)
        made.bags.data<int32_t>()[row * kBag + i] =
            static_cast<int32_t>((id + 3 * node + 5 * i) % kGraphIds);
      for (int64_t i = 0; i < kGraphNumbers; ++i)
        made.features.data<float>()[row * kGraphNumbers + i] =
            0.3F * static_cast<float>((node * 7 + i * 3 + id) % 5 - 2);
    }
    const int64_t places = form.of_nodes ? kPlaces : 1;
    for (int64_t place = 0; place < places; ++place) {
      made.places.data<int32_t>()[g * places + place] = static_cast<int32_t>(2 - 2 * place);
      made.targets.data<int32_t>()[g * places + place] = static_cast<int32_t>((id + place) % 3);
      made.weights.data<float>()[g * places + place] = 1;
    }
  }
  take_distances(made);
  return made;
}

inline ModelConfig small_graph_model(LinkScoring score, bool of_nodes = true) {
  ModelConfig made;
  made.architecture = &gnn_architecture();
  made.context = 6;
  made.d_model = 8;
  made.n_layers = 2;
  made.n_heads = 4;
  made.d_ff = 12;
  made.init_std = 0.3;
  made.head = of_nodes ? Head::token : Head::sequence;
  made.labels = 3;
  GraphOptions& own = graph_options(made);
  own.score = score;
  own.node_ids = kGraphIds;
  own.node_numbers = kGraphNumbers;
  if (gnn_architecture().graph_uses(made).link_parts) {
    own.link_kinds = kGraphLinkKinds;
    own.link_numbers = 1;
  }
  return made;
}

// What a graphormer has beside the rest: a virtual node, and kinds of the links of its paths.
struct GraphormerForm {
  bool of_nodes = true, virtual_node = true, link_kinds = true;
  LinkScoring score = LinkScoring::dot;
};
// Distances, and numbers of links, go beyond what is told apart.
inline ModelConfig small_graphormer(const GraphormerForm& form = {}) {
  ModelConfig made = small_graph_model(form.score, form.of_nodes);
  GraphOptions& own = graph_options(made);
  own.form = GraphFormKind::graphormer;
  own.farthest = form.link_kinds ? 2 : 1;
  own.degrees = 3;
  own.virtual_node = form.virtual_node;
  own.link_numbers = 0;
  if (!form.link_kinds) own.link_kinds = 0;
  return made;
}

}  // namespace skein::test
