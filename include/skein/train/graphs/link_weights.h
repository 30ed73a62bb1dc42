// What a model of graphs weighs links by: as numbers, and as pictures of small graphs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skein/train/graphs/trained_graph_model.h"

namespace skein::train {

// Of one layer and graph. Of each node those that it gathers by stand beside each other; each head
// weighs them to a sum of 1, but for model.link_score=symmetric. Scores that are not learnt have
// one head, which stands for all.
struct WeighedLinks {
  int layer = 0;
  std::vector<int32_t> from{}, to{};  // nodes, of which `to` gathers; -1: the virtual node
  Tensor weights{};                   // [E,H] f64
};

struct WeighedGraph {
  std::string name{};                                // "store.h5, graph 3"
  std::vector<std::pair<int64_t, int64_t>> links{};  // that the graph has, whatever layers see
  std::vector<WeighedLinks> layers{};
};

// Which graphs of a store, and of these which links.
struct GraphsToWeigh {
  int64_t count = 1;   // the first ones
  int64_t graph = -1;  // only that record
  int64_t node = -1;   // only those by which this one gathers
};

// Collective. Of the first of `samples`, on every rank: the same bits at every data- and
// pipeline-parallel layout. Usage errors for a graph or a node that is not there.
std::vector<WeighedGraph> weighed_graphs(TrainedGraphModel& model,
                                         const data::GraphSamples& samples,
                                         const GraphsToWeigh& wanted);

// "layer 0, head 2: ...", a line each: over nodes of several links, how far from alike these are.
std::vector<std::string> weight_lines(const std::vector<WeighedGraph>& graphs);

// Lines of JSON {"graph", "layer", "head", "from", "to", "weight"}, six decimals.
std::string weights_jsonl(const std::vector<WeighedGraph>& graphs);

// A layer's heads side by side as SVG (formats/svg_graph.h), of the nodes that occur. Empty where
// they are more than 100.
std::string weights_svg(const WeighedGraph& graph, const WeighedLinks& layer);

// Makes the folder, if it must, and writes FOLDER/attention.jsonl, and for graph 1, 2, ... and each
// of its layers a picture FOLDER/graph-1-layer-0.svg, where it is small enough. Returns their
// paths. option: that named the folder, for messages.
std::vector<std::string> write_weights(const std::string& option, const std::string& folder,
                                       const std::vector<WeighedGraph>& graphs);

}  // namespace skein::train
