// Carries out a schedule over the model pieces on this rank: receive, forward, send, backward. With one
// stage and one piece it is plain gradient accumulation.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "skein/comm/mesh.h"
#include "skein/models/model.h"
#include "skein/parallel/recorded_pass.h"
#include "skein/parallel/schedule.h"
#include "skein/parallel/messages.h"

namespace skein {

// The network as this rank holds it: pieces[c] is global piece c * stages + stage.
struct PipelineModel {
  std::vector<const Model*> pieces;
  const Objective* objective = nullptr;  // on the last stage
  DType dtype = DType::f32;
  Device device;
};

struct PipelineStep {
  std::vector<Batch> micro_batches;
  double loss_scale = 1;  // every row's weight is multiplied by it: 1 / number of counted tokens in the global batch
  bool train = true;      // false: forward only
  // Called after the backward of (micro_batch, chunk) is done.
  std::function<void(int micro_batch, int chunk)> after_backward;
};

class Pipeline {
 public:
  // record: train by graphs (see recorded_pass.h); a usage error where they cannot be.
  Pipeline(Mesh& mesh, PipelineModel model, ScheduleKind kind, bool record = false);

  // pass: everything but the batch. On a device this only queues the work.
  void run(const PipelineStep& step, const Pass& pass);
  // Of the last run: the weighted loss sum of each sample of all micro-batches in order, in f64; on the last stage only, empty
  // elsewhere. Waits for the device.
  std::vector<double> losses() const;

 private:
  struct InFlight {
    Var input, output;
    Work sent;
  };

  struct RowLosses {
    Tensor rows, weights;
  };

  void forward(const Action& action, const PipelineStep& step, const Pass& pass);
  void backward(const Action& action, const PipelineStep& step, const Pass& pass);
  void run_recorded(int micro_batch, const PipelineStep& step, const Pass& pass);
  Losses losses_of(int micro_batch, const Var& output, const PipelineStep& step, const Pass& pass);
  Tensor receive(const StageMessage& message, const Shape& shape);
  Work send(const Tensor& tensor, const StageMessage& message);

  Mesh& mesh_;
  PipelineModel model_;
  ScheduleKind kind_;
  std::unique_ptr<RecordedPass> recorded_;
  StagePieces pieces_;
  std::map<std::pair<int, int>, InFlight> in_flight_;     // by (micro_batch, chunk)
  std::map<int, Tensor> handed_;                          // by tag; one stage: between pieces of one rank
  std::vector<std::pair<Work, Tensor>> sending_;
  std::vector<Batch> placed_;                             // the step's micro-batches where the model is
  std::vector<RowLosses> losses_;                         // by micro-batch
};

}  // namespace skein
