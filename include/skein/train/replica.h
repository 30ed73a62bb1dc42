// The model, its gradients and its optimizer as this rank holds them, and one optimizer step with
// them.
#pragma once

#include <vector>

#include "skein/data/samples/loader.h"
#include "skein/models/flops.h"
#include "skein/parallel/buckets.h"
#include "skein/parallel/local_model.h"
#include "skein/parallel/rank_memory.h"
#include "skein/train/config.h"
#include "skein/train/optim/sharded_optimizer.h"
#include "skein/train/task.h"

namespace skein::train {

// What a replica needs on this rank, by formula, for rows as long as the model's context.
MemoryShape learning_shape(const PretrainConfig& config, const BatchPlan& plan, const Mesh& mesh,
                           const LocalModel& model);

// What a replica learns. objective: makes the objective of a model whose last piece is here; empty,
// or where it returns null: the model's own. terms: those of the objective.
struct Learning {
  std::function<std::unique_ptr<Objective>(const LocalModel&)> objective = {};
  std::vector<Term> terms = {{}};
  // Of the samples that steps are given as an AuxiliaryBatch; empty: there are none.
  std::function<std::unique_ptr<Objective>(const LocalModel&)> auxiliary = {};
  // false: all values are zero until the caller loads them.
  bool start_values = true;
};

// Other samples that are learnt in the same step. Their mean loss over places, times coefficient,
// is an auxiliary loss: it is added to that of the batch.
struct AuxiliaryBatch {
  data::Batch batch;  // this rank's samples, of any length
  double coefficient = 1;
};

struct StepResult {
  double loss = 0;  // the sum of the terms that are learnt, and of the optimizer's ridge
  std::vector<double> terms = {};  // means of each
  double auxiliary = 0;            // mean loss of the auxiliary batch, without its coefficient
  double grad_norm = 0;            // before clipping
  double tokens = 0;    // of the batch that went through the model on all ranks, padding included
  double links = 0;     // of its graphs, padding left out
  double flops = 0;     // model FLOPs by TokenFlops, the auxiliary batch included
  bool applied = true;  // false: the norm was not finite, or a spike, and nothing was changed
};

// Bytes this rank holds in tensors.
struct ReplicaMemory {
  int64_t parameters = 0, gradients = 0, optimizer = 0;
  int64_t packed = 0;  // weights in the order of the products
  int64_t work = 0;    // the most that was in use beside these: activations, logits, exchanges
  // of them, as kept_bytes says of micro-batches as long as the longest so far
  double activations = 0;
  int64_t longest = 0;  // tokens of a row of that one
  double snapshot = 0;  // by formula; of a checkpoint while it is written
};

class Replica {
 public:
  // auxiliary: how auxiliary batches are cut, where learning has an objective for them.
  Replica(const PretrainConfig& config, const BatchPlan& plan, Mesh& mesh,
          const Learning& learning = {}, const BatchPlan& auxiliary = {});

  // Collective. batch: this rank's samples of the step; each micro-batch is trimmed. number: of the
  // step; dropout masks are keyed by it. loss_scale: losses are multiplied by it in backward,
  // gradients divided by it. OutOfMemory says what would need less.
  // most: a step with a loss or norm beyond it changes nothing.
  StepResult step(const data::Batch& batch, int64_t number, double lr, double loss_scale = 1,
                  const AuxiliaryBatch* auxiliary = nullptr,
                  const SpikeDetector::Limits& most = {});
  // Numbers of the samples that belong to this rank, of a step that begins with sample 0.
  data::SampleRange own_samples() const { return plan_.own_samples(mesh_); }

  // What was in use in the steps so far.
  ReplicaMemory memory() const;

  LocalModel& model() { return model_; }
  ShardedOptimizer& optimizer() { return optimizer_; }
  Pipeline& pipeline() { return pipeline_; }

 private:
  struct StepWork {
    double place_scale = 1;  // the share of a place in the mean loss
    double tokens = 0, links = 0, flops = 0;
  };
  StepResult learn(const data::Batch& batch, int64_t number, double lr, double loss_scale,
                   const AuxiliaryBatch* auxiliary, const SpikeDetector::Limits& most);
  void add_terms(double place_scale, StepResult& result) const;
  PipelineStep cut(const data::Batch& batch, const BatchPlan& plan) const;
  StepWork step_work(const PipelineStep& work, bool differs);
  // Leaves the gradients of the batch's mean loss times factor, reduced.
  StepWork backpropagate(Pipeline& pipeline, const BatchPlan& plan, const data::Batch& batch,
                         int64_t number, double factor);
  void add_auxiliary(const AuxiliaryBatch& auxiliary, int64_t number, double loss_scale,
                     StepResult& result);
  double mean_loss(const std::vector<double>& own, const BatchPlan& plan, double scale) const;

  PretrainConfig config_;
  BatchPlan plan_, auxiliary_plan_;
  Mesh& mesh_;
  std::vector<Term> terms_;
  LocalModel model_;
  Buckets buckets_;
  ShardedOptimizer optimizer_;
  Pipeline pipeline_;
  int64_t longest_ = 0, longest_source_ = 0;
  TokenFlops flops_;
  std::unique_ptr<Objective> auxiliary_objective_;
  std::unique_ptr<Pipeline> auxiliary_;
};

}  // namespace skein::train
