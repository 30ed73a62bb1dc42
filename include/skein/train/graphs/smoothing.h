// How alike a model of graphs makes nodes, layer by layer: where the vectors of all nodes become
// one, more layers cannot tell nodes apart (over-smoothing: Li and others, "Deeper insights into
// graph convolutional networks for semi-supervised learning", 2018).
#pragma once

#include <string>
#include <vector>

#include "skein/core/values.h"
#include "skein/train/graphs/trained_graph_model.h"

namespace skein::train {

// Mean cosines of the vectors of nodes behind a layer, over all graphs; 0 where there are no such
// pairs. A vector of zeros has the cosine 0 with all others.
struct LayerAlikeness {
  int layer = 0;      // 0: what enters the first one
  double linked = 0;  // of nodes and those that they gather from, but for themselves
  double any = 0;     // of any two nodes of a graph
};

// Collective. samples: those that model.samples gives. The same bits at every data- and
// pipeline-parallel layout.
std::vector<LayerAlikeness> alikeness(TrainedGraphModel& model, const data::GraphSamples& samples);
// A line a layer.
std::string alikeness_table(const std::vector<LayerAlikeness>& layers);

// Collective. Returns "linked_cosine_N" and "any_cosine_N" of each layer N for that part of the
// stores, and logs them as a table. batch: graphs a forward pass.
NamedValues evaluate_smoothing(const std::vector<std::string>& stores,
                               const GraphPartConfig& config, const TrainedModel& source,
                               const ParallelConfig& parallel, int64_t batch, Group& world);

}  // namespace skein::train
