// Carries out a schedule over the model pieces on this rank: receive, forward, send, backward. With
// one stage and one piece it is plain gradient accumulation.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "skein/comm/mesh.h"
#include "skein/models/model.h"
#include "skein/parallel/messages.h"
#include "skein/parallel/recorded_pass.h"
#include "skein/parallel/schedule.h"

namespace skein {

// The network as this rank holds it: pieces[c] is global piece c * stages + stage.
struct PipelineModel {
  std::vector<const Model*> pieces;
  const Objective* objective = nullptr;  // on the last stage
  // the first global piece that learns: no gradient goes to those before it, nor from it to them
  int first_learning = 0;
  DType dtype = DType::f32;
  Device device;
};

struct PipelineStep {
  std::vector<data::Batch> micro_batches;
  // every place's weight is multiplied by it: 1 / number of places that count in the global batch
  double loss_scale = 1;
  // every sample's, where samples are judged too: 1 / samples of the global batch
  double sample_scale = 1;
  int groups_per_micro_batch = 1;  // whose gradients are added in a tree (ops/sample_groups.h)
  bool sample_by_sample = false;   // a GPU adds the gradients of samples one by one
  bool train = true;               // false: forward only
  bool answers = false;            // forward only: what the model says is kept too
  bool losses = true;              // forward only: false where answers alone are wanted
  // Called in the backward of (micro_batch, chunk) as it proceeds: the gradients of that piece's
  // buckets from number `bucket` on hold what the micro-batch adds to them. At its end with 0: all
  // of them do. On a device the work for that is queued.
  std::function<void(int micro_batch, int chunk, int bucket)> gradients_done;
};

class Pipeline {
 public:
  // record: train by graphs (see recorded_pass.h): of one piece on one GPU.
  Pipeline(Mesh& mesh, PipelineModel model, ScheduleKind kind, bool record = false);

  // To be called before a training run() and before the gradients it adds to are made zero; run()
  // does it where nothing learns. On a GPU with other stages: runs the pieces once for each shape
  // of micro-batch that is new, without an exchange between stages, so that run() meets no product
  // for the first time while others wait for this stage. Adds to the gradients.
  void warm_up(const PipelineStep& step, const Pass& pass);
  // pass: everything but the batch. On a device this only queues the work.
  void run(const PipelineStep& step, const Pass& pass);
  // Of the last run, on the last stage only, empty elsewhere: for each term of the objective the
  // weighted loss sum of each sample of all micro-batches in order, in f64. Waits for the device.
  std::vector<std::vector<double>> losses() const;
  // Of the last run, where it was asked for answers: by micro-batch, the objective's; on the last
  // stage only.
  const std::vector<std::vector<Tensor>>& answers() const { return answers_; }

 private:
  struct Flight {
    Flow input, output;
    std::vector<Work> sent;
  };

  // What is on its way to another stage, and nobody here reads any more.
  struct Message {
    std::vector<Work> sent;
    std::vector<Tensor> tensors;
  };

  // What another stage was asked for.
  struct Asked {
    std::vector<Tensor> tensors;
    std::vector<Work> coming;
  };

  struct RowLosses {
    Tensor rows;
    std::vector<Tensor> weights;
  };

  Tensor loss_rows() const;
  void forward(const Action& action, const PipelineStep& step, const Pass& pass);
  void backward(const Action& action, const PipelineStep& step, const Pass& pass);
  static void drop_sent(const Flight& flight);
  void pass_back(const Action& action, Flight& flight, const PipelineStep& step, const Pass& pass);
  // A piece's input, whose gradients are wanted where pieces before it learn.
  Flow entered(std::vector<Tensor> received, int chunk) const;
  void run_alone(const PipelineStep& step, const Pass& pass, int chunk);
  void run_recorded(int micro_batch, const PipelineStep& step, const Pass& pass);
  Losses losses_of(int micro_batch, const Var& output, const PipelineStep& step, const Pass& pass);
  // Asks for what the action begins with, if that was not done and can be: a gradient's shapes are
  // known once its piece has run forward.
  void ask_for(const Action& action, const PipelineStep& step, const Pass& pass);
  void ask_for(const StageMessage& message, const std::vector<FlowPart>& parts);
  std::vector<Tensor> receive(const StageMessage& message, const std::vector<FlowPart>& parts);
  std::vector<Work> send(const std::vector<Tensor>& tensors, const StageMessage& message);

  Mesh& mesh_;
  PipelineModel model_;
  ScheduleKind kind_;
  std::unique_ptr<RecordedPass> recorded_;
  StagePieces pieces_;
  std::map<std::pair<int, int>, Flight> in_flight_;  // by (micro_batch, chunk)
  std::map<int, std::vector<Tensor>> handed_;  // by tag; one stage: between pieces of one rank
  std::deque<Message> sending_;                // the oldest first
  std::map<int, Asked> asked_;                 // by tag
  std::vector<data::Batch> placed_;            // the step's micro-batches where the model is
  std::vector<RowLosses> losses_;              // by micro-batch
  std::vector<std::vector<Tensor>> answers_;
  std::set<std::string> warm_;  // shapes
};

}  // namespace skein
