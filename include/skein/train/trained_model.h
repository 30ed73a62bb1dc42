// A trained model as its checkpoint holds it, for whoever uses it without going on with its run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/data/noise/noise.h"
#include "skein/data/samples/masking.h"
#include "skein/models/config.h"
#include "skein/parallel/local_model.h"
#include "skein/train/run_state.h"
#include "skein/train/task.h"

namespace skein::train {

struct TrainedModel {
  checkpoint::CheckpointInfo info;
  RunState state;  // of the run that wrote it; of an import, with the options of the model alone
  ModelConfig model;
  data::MaskConfig mlm;
  data::NoiseConfig noise;
};

// Collective. Reads what a checkpoint that was found says. A usage error where its tensors are not
// those of the model that it describes: from here on the model's sizes can be relied on.
TrainedModel trained_model(const checkpoint::CheckpointInfo& info, Group& world);
// Collective. Opens the checkpoint at `path`, or what find_weights takes of a run's folder there.
// timeout: parallel.timeout, of a job that nobody watches yet. option: the one that named the path,
// for messages. Usage errors where there is no checkpoint, and as above.
TrainedModel open_trained_model(const std::string& path, double timeout, Group& world,
                                const std::string& option = "checkpoint.path");

// Throws a usage error where no text can be encoded for the model because nothing names its
// tokenizer.
void require_tokenizer(const TrainedModel& source);

// What a decoder is fed before a text: of an import that was not trained here the ids that its
// tokenizer's template puts there. Runs here learn texts without.
std::vector<int32_t> text_beginning(const TrainedModel& source);
// Puts them before tokens that do not begin with them.
void begin_with(const std::vector<int32_t>& beginning, std::vector<int32_t>& tokens);

// What a model is asked for instead of its own answers; called where its last piece is held.
using MakeObjective = std::function<std::unique_ptr<Objective>(const LocalModel& model)>;

// A model at work that only answers: at the layout of a job.
class LoadedModel {
 public:
  // Collective. objective: none asks for the model's own answers. Usage errors for a layout that
  // the model does not fit.
  LoadedModel(const TrainedModel& source, const ParallelConfig& parallel, DType dtype, Group& world,
              const MakeObjective& objective = {});
  // Without weights: who makes it loads them.
  LoadedModel(const ModelConfig& model, const ParallelConfig& parallel, DType dtype, Group& world,
              const MakeObjective& objective = {});
  // Alike, on a mesh of that layout, which outlives the model.
  LoadedModel(const ModelConfig& model, const ParallelConfig& parallel, DType dtype, Mesh& mesh,
              const MakeObjective& objective = {});

  Mesh& mesh() { return mesh_; }
  Parameters& parameters() { return local_.parameters(); }
  // batch: samples of a forward pass; meeting: see EvaluatedModel.
  EvaluatedModel evaluated(int64_t batch = 1, Meeting* meeting = nullptr) {
    return {pipeline_, local_.pass(), mesh_, batch, meeting, &local_};
  }

 private:
  LoadedModel(std::unique_ptr<Mesh> mesh, const ModelConfig& model, const ParallelConfig& parallel,
              DType dtype, const MakeObjective& objective);

  std::unique_ptr<Mesh> own_mesh_;  // null: it is somebody else's
  Mesh& mesh_;
  LocalModel local_;
  Pipeline pipeline_;
};

}  // namespace skein::train
