// A trained model of graphs at work.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "skein/core/values.h"
#include "skein/data/graphs/graph_samples.h"
#include "skein/train/tasks/label_scores.h"
#include "skein/train/trained_model.h"

namespace skein {
enum class Reads;
}

namespace skein::train {

// Which part of stores is meant.
struct GraphPartConfig {
  data::GraphChoice choice{data::GraphUse::test};
  std::vector<int64_t> neighbours{};  // as in training; empty: all
};
// Binds graph.part and graph.fold.
void bind(Options& options, GraphPartConfig& config);
// Binds graph.neighbours, where labels are told.
void bind_neighbours(Options& options, GraphPartConfig& config);
// A usage error where one of them was given, for a model that reads something else.
void refuse_graph_part(const Options& options, Reads reads);

// What has a vector of its own. automatic: what the model tells labels of.
enum class GraphVector { automatic, node, graph };

class TrainedGraphModel {
 public:
  // Collective. batch: graphs a forward pass. A usage error for a checkpoint whose notes do not say
  // how graphs are read, or do not fit its model. objective: as LoadedModel has it.
  TrainedGraphModel(const TrainedModel& source, const ParallelConfig& parallel, DType dtype,
                    int64_t batch, Group& world, const MakeObjective& objective = {});

  const LabelHead& head() const { return head_; }
  // Of stores, "path" or "weight:path" each. Usage errors where they do not fit the model, or have
  // nothing of that part. Links of validation and test are hidden from a model that tells links,
  // whose own objective is asked of pairs. neighbours: so many are drawn; empty: all.
  data::GraphSamples samples(const std::vector<std::string>& stores,
                             const data::GraphChoice& choice,
                             const std::vector<int64_t>& neighbours = {}) const;
  // Collective.
  LabelAnswers answers(const data::GraphSamples& samples);
  // Collective. What the objective answers: [samples,places,width].
  Tensor vectors(const data::GraphSamples& samples, int64_t places, int64_t width);
  // Collective. Shows it what the model makes of the rank's own samples in the rank's own layers.
  void watch(const data::GraphSamples& samples, AttentionWatcher& watcher);
  // Collective. Every rank gets the sum over data- and pipeline-parallel ranks.
  void share(const Tensor& numbers);
  // Collective. What each rank has, on all of them.
  std::vector<std::string> gathered(const std::string& bytes);
  int64_t layers() const { return layers_; }

 private:
  std::string origin_;
  LabelHead head_;
  bool asks_pairs_;  // of links
  LoadedModel model_;
  int64_t batch_, layers_;
};

// What makes the vectors of nodes, or of graphs, of a model's hidden states.
MakeObjective vector_objective(bool of_nodes);
// Collective. Calls use(names, vectors [n,width]) for the nodes or graphs of `samples`, in their
// order, a few graphs at a time: the hidden states of the last layer, or of a graph that of its
// virtual node, or the mean of its nodes'. The model's objective is vector_objective. Of a model
// that tells labels of nodes they are the nodes of the part that was chosen. Returns how many there
// were.
using UseVectors =
    std::function<void(const std::vector<std::string>& names, const Tensor& vectors)>;
int64_t graph_vectors(TrainedGraphModel& model, const data::GraphSamples& samples, bool of_nodes,
                      int64_t width, const UseVectors& use);

// Collective. Returns the metrics of that part of the stores, and logs them. batch: graphs a
// forward pass.
NamedValues evaluate_graphs(const std::vector<std::string>& stores, const GraphPartConfig& config,
                            const TrainedModel& source, const ParallelConfig& parallel,
                            int64_t batch, Group& world);

}  // namespace skein::train
