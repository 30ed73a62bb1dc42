// What a run learns from and what it is judged by: the part of training that differs between kinds
// of models.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skein/comm/meeting.h"
#include "skein/core/values.h"
#include "skein/data/samples/source.h"
#include "skein/data/stores/data_file.h"
#include "skein/parallel/local_model.h"
#include "skein/text/tokenizer.h"
#include "skein/train/task_notes.h"

namespace skein {

// How well a model does on held-out data.
struct Scores {
  std::string text;    // for the log
  NamedValues values;  // for metrics.jsonl
  double quality = 0;  // what is best is kept: higher is better
};

// A model as a task judges it. batch: samples a forward pass. meeting: where the judging may be
// interrupted; null: nowhere.
struct Judged {
  Pipeline& pipeline;
  Pass pass;
  Mesh& mesh;
  int64_t batch = 1;
  Meeting* meeting = nullptr;
};

// One part of what an objective makes, in the order of Losses::weights.
struct Term {
  enum class Over { places, samples };
  std::string name;
  // its mean is over the places of the global batch that count, or over its samples
  Over over = Over::places;
  // part of the loss; else told only, its rows having no weight in the gradient
  bool learnt = true;
};

class Task {
 public:
  virtual ~Task() = default;
  virtual const SampleSource& samples() const = 0;
  // Tokens of a sample, padding included.
  virtual int64_t length() const = 0;
  virtual StoredTokenizer tokenizer() const = 0;
  // What a piece of the model on the last stage learns; null: what its head is for.
  virtual std::unique_ptr<Objective> objective(const LocalModel& model) const {
    static_cast<void>(model);
    return nullptr;
  }
  // Collective. Before the step that learns samples [first, first + count): time to find what its
  // objective has to know of all of them. The same bits at every data- and pipeline-parallel
  // layout.
  virtual void before_step(const Judged& model, int64_t first, int64_t count) const {
    static_cast<void>(model), static_cast<void>(first), static_cast<void>(count);
  }
  // The files that it learns from and is judged by.
  virtual std::vector<DataFile> data_files() const { return {}; }
  // The objective's terms, told beside their sum where they have names.
  virtual std::vector<Term> terms() const { return {{}}; }
  virtual bool validates() const = 0;
  // Collective. The same bits at every data- and pipeline-parallel layout. Lets Interrupted
  // through, after which it can be called again.
  virtual Scores validate(const Judged& model) const = 0;
  // What a checkpoint of this task says beside the rest.
  virtual TaskNotes notes() const { return {}; }
  // Collective. The notes of a checkpoint of this model as it is, where they tell what the task has
  // measured of it.
  virtual TaskNotes measured_notes(const Judged& model) const {
    static_cast<void>(model);
    return notes();
  }
  // Before a run whose checkpoint has these notes goes on: a usage error naming `origin` where it
  // cannot as this task.
  virtual void check_notes(const TaskNotes& notes, const std::string& origin) const {
    static_cast<void>(notes), static_cast<void>(origin);
  }
  // Whether checkpoint.load is another task's model, from whose weights this one begins.
  virtual bool adapts() const { return false; }
  // Of an adapting task: whether a tensor of this part of the model keeps its start values instead
  // of those of checkpoint.load. in_checkpoint: whether that holds a tensor of its name; notes: of
  // the task that made it.
  virtual bool begins_anew(const Part& part, bool in_checkpoint, const TaskNotes& notes) const {
    static_cast<void>(part), static_cast<void>(in_checkpoint), static_cast<void>(notes);
    return false;
  }
};

}  // namespace skein
