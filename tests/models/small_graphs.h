// Small batches of graphs, and models that read them.
#pragma once

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

struct GraphBatchForm {
  std::vector<int32_t> nodes{5, 3};  // of each graph
  bool of_nodes = true;
  int64_t length = 6;
  int64_t first_id = 4;  // of samples
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
    for (const auto& [row, column] : ring_links(nodes)) {
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

}  // namespace skein::test
