// What a run learns from and what it is judged by: the part of training that differs between kinds
// of models.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/comm/meeting.h"
#include "skein/core/values.h"
#include "skein/data/samples/source.h"
#include "skein/data/stores/data_file.h"
#include "skein/parallel/local_model.h"
#include "skein/text/tokenizer.h"
#include "skein/train/task_notes.h"

namespace skein::train {

// How well a model does on held-out data.
struct Scores {
  std::string text;    // for the log
  NamedValues values;  // for metrics.jsonl, where "validation_" stands before their names
  double quality = 0;  // what is best is kept: higher is better
};

// A model that a task judges.
struct EvaluatedModel {
  Pipeline& pipeline;
  Pass pass;
  Mesh& mesh;
  int64_t batch = 1;            // samples of a forward pass
  Meeting* meeting = nullptr;   // where judging may be interrupted; null: nowhere
  LocalModel* local = nullptr;  // for tasks that decode with it
};

// One part of what an objective makes, in the order of Losses::weights.
struct Term {
  enum class Over { places, samples };
  std::string name;
  // its mean is over the places of the global batch that count, or over its samples
  Over over = Over::places;
  // part of the loss; else told only, its rows having no weight in the gradient
  bool learnt = true;
  bool perplexity = false;  // recorded beside it: exp of its mean
};

class Task {
 public:
  virtual ~Task() = default;
  virtual const data::SampleSource& samples() const = 0;
  // Called once, before samples are made: how those of a step are cut, and the sample that the run
  // begins or goes on with. For a task whose order of samples goes by reduction groups.
  virtual void order_by(const BatchPlan& /*plan*/, int64_t /*first*/) {}
  // Tokens of a sample, padding and its source included.
  virtual int64_t length() const = 0;
  virtual text::StoredTokenizer tokenizer() const = 0;
  // What the model learns, asked on the last stage; null: its last piece's own objective.
  virtual std::unique_ptr<Objective> objective(const LocalModel& /*model*/) const {
    return nullptr;
  }
  // Collective. Called before the step that learns samples [first, first + count), so that the task
  // can find what its objective must know of all of them. The same bits at every data- and
  // pipeline-parallel layout.
  virtual void before_step(const EvaluatedModel& /*model*/, int64_t /*first*/,
                           int64_t /*count*/) const {}
  // The files that it learns from and is judged by.
  virtual std::vector<data::DataFile> data_files() const { return {}; }
  // The objective's terms. Those that have names are recorded beside their sum.
  virtual std::vector<Term> terms() const { return {{}}; }
  virtual bool validates() const = 0;
  // Collective. The same bits at every data- and pipeline-parallel layout. Lets Interruption
  // through, after which it can be called again.
  virtual Scores validate(const EvaluatedModel& model) const = 0;
  // Tokens that validate() looks at, padding included, for forecasts; 0: the task does not say.
  virtual int64_t held_out_tokens() const { return 0; }
  // What the task adds to the metadata of a checkpoint.
  virtual TaskNotes notes() const { return {}; }
  // Collective. The notes for a checkpoint of the model as it is now, for tasks that note something
  // they measure of it.
  virtual TaskNotes measured_notes(const EvaluatedModel& /*model*/) const { return notes(); }
  // Called before a run goes on from a checkpoint `origin` with these notes. A usage error naming
  // it where it is not of this task.
  virtual void check_notes(const TaskNotes& /*notes*/, const std::string& /*origin*/) const {}
  // Whether the run begins from the weights of another task's model, which checkpoint.load names.
  virtual bool adapts() const { return false; }
  // For a task that adapts: whether a tensor of this part of the model keeps its start values,
  // whatever the checkpoint to begin from holds. in_checkpoint: whether a tensor of that name is in
  // the checkpoint. notes: those of the task that wrote it.
  virtual bool begins_anew(const Part& /*part*/, bool /*in_checkpoint*/,
                           const TaskNotes& /*notes*/) const {
    return false;
  }
  // For a task that adapts a model to inputs of another size: the values of a learnt tensor of this
  // part, all of it, by `stored` [...] f32 on the host, which has another shape in the checkpoint;
  // undefined: the task knows none, and the checkpoint does not fit.
  virtual Tensor refitted(const Part& /*part*/, const Tensor& /*stored*/) const { return {}; }
};

}  // namespace skein::train
