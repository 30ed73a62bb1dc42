// A trained model of graphs at work.
#pragma once

#include <string>
#include <vector>

#include "skein/core/values.h"
#include "skein/data/graphs/graph_samples.h"
#include "skein/parallel/local_model.h"
#include "skein/train/tasks/label_scores.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// Which part of stores is meant.
struct GraphPartConfig {
  data::GraphChoice choice{data::GraphUse::test};
};
// Binds graph.part and graph.fold.
void bind(Options& options, GraphPartConfig& config);
// A usage error where one of them was given, for a model that reads no graphs.
void refuse_graph_part(const Options& options);

class TrainedGraphModel {
 public:
  // Collective. batch: graphs a forward pass. A usage error for a checkpoint whose notes do not say
  // how graphs are read, or do not fit its model.
  TrainedGraphModel(const TrainedModel& source, const ParallelConfig& parallel, DType dtype,
                    int64_t batch, Group& world);

  const LabelHead& head() const { return head_; }
  // Of stores, "path" or "weight:path" each. Usage errors where they do not fit the model, or have
  // nothing of that part.
  data::GraphSamples samples(const std::vector<std::string>& stores,
                             const data::GraphChoice& choice) const;
  // Collective.
  LabelAnswers answers(const data::GraphSamples& samples);

 private:
  std::string origin_;
  LabelHead head_;
  Mesh mesh_;
  LocalModel local_;
  Pipeline pipeline_;
  int64_t batch_;
};

// Collective. Returns the metrics of that part of the stores, and logs them. batch: graphs a
// forward pass.
NamedValues evaluate_graphs(const std::vector<std::string>& stores, const GraphPartConfig& config,
                            const TrainedModel& source, const ParallelConfig& parallel,
                            int64_t batch, Group& world);

}  // namespace skein::train
