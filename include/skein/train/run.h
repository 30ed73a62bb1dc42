// What every run keeps, whatever it learns: its folder and the claim on it, the checkpoint that it
// goes on from, its state, its commits and the best of them, its profile, and where it can be asked
// to stop. What is learnt, and how, is the business of a Learner.
//
//   Run run(config, words, world, claim);      the folder is claimed, nothing is written
//   run.plan(...);  run.set_data(...);          then the learner is built, and loaded
//   run.open(resolved, compares);               the folder is written from here on
//   const bool stopped = run.to_end(learner);   steps, evaluations, commits, the last commit
//
// All of it is collective. A run that cannot go on ends by an Error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/comm/meeting.h"
#include "skein/comm/mesh.h"
#include "skein/parallel/layout.h"
#include "skein/train/commit_schedule.h"
#include "skein/train/config.h"
#include "skein/train/run_data.h"
#include "skein/train/run_folder.h"
#include "skein/train/run_state.h"
#include "skein/train/stop.h"
#include "skein/train/task.h"
#include "skein/train/watch/replicas.h"
#include "skein/train/watch/stragglers.h"

namespace skein::train {

class Learner {
 public:
  virtual ~Learner() = default;

  // One step or iteration: learns, counts it in the run's state, records and tells it. Interruption
  // where nothing has changed yet.
  virtual void advance() = 0;
  // Held-out data are evaluated after steps for which evaluation_due() is true, and at the end
  // where evaluates_end() is. Only where validates() is.
  virtual bool validates() const = 0;
  virtual bool evaluation_due() const = 0;
  virtual bool evaluates_end() const = 0;
  virtual Scores score(Meeting& meeting) = 0;
  // The tensors that a checkpoint holds, to go on from; and the weights alone, which are kept where
  // they are the best.
  virtual std::vector<checkpoint::Piece> tensors() = 0;
  virtual std::vector<checkpoint::Piece> best_weights() = 0;
  // What ranks hold with the same bits.
  virtual std::vector<Replicated> replicated() = 0;
  // The run's state with its own, as checkpoints hold it.
  virtual std::string state_text() = 0;
  // Its files outlive a loss of power from here on.
  virtual void sync() {}
  // Where it may be interrupted from here on; null: nowhere.
  virtual void meet(Meeting* /*meeting*/) {}
  // No more steps will be made; the last commit will.
  virtual void finish() {}
};

// How messages of a run call what it counts.
struct RunWords {
  std::string step;      // "step"
  std::string steps;     // "train.steps", the option that says how many
  std::string gradient;  // "its gradient norm", of a step
  std::string ruined;    // ", the last one, has no finite gradient norm"
  std::string advice;    // what helps beside a lower learning rate
};

class Run {
 public:
  // config: of the learner, which outlives the run; plan() completes it. last: the step that ends
  // it. claim: null where the folder is to be claimed here.
  Run(PretrainConfig& config, RunWords words, int64_t last, Group& world,
      std::unique_ptr<checkpoint::RunClaim> claim);

  Mesh& mesh() { return mesh_; }
  Group& world() { return mesh_.world(); }
  const MeshShape& shape() const { return shape_; }
  RunFolder& folder() { return folder_; }
  checkpoint::RunClaim* claim() { return claim_.get(); }
  RunState& state() { return state_; }
  const RunState& state() const { return state_; }
  RunData& data() { return *data_; }
  Meeting* meeting() { return meeting_.get(); }
  // The step of the newest commit; -1: none.
  int64_t saved_step() const { return saved_step_; }
  checkpoint::CheckpointStore* best() { return best_.get(); }
  bool stores() const { return store_ != nullptr; }

  // The newest checkpoint of the run's own folder.
  std::optional<checkpoint::CheckpointInfo> own();
  // Of those of steps that checkpoint.every divides, where it is given: whatever was committed
  // besides, by the clock or because the run was stopped, is none.
  std::optional<checkpoint::CheckpointInfo> own_by_schedule();
  // How the batch is cut into reduction groups, the stored ones where there are any, and
  // micro-batches.
  BatchPlan plan(const RunState* stored, const std::string& origin);
  void set_data(std::vector<data::DataFile> files);
  // Counts from the steps that `stored` has done.
  void count_from(const RunState& stored);
  // After that, where `stored` is of the run's own checkpoint: it counts as saved, and the
  // evaluation that it owes will be made. compared: coming evaluations are compared with the best
  // that it names.
  void go_on(const RunState& stored, bool compared);
  // Counts from the checkpoint of the run's own folder that `stored` is of, once more, but goes on
  // with the sample of that number. Those of later steps go.
  void roll_back(const RunState& stored, int64_t samples);
  // Writes the folder. compares: keeps the best weights by the learner's evaluations.
  void open(const std::string& resolved, bool compares);

  bool done() const { return state_.step >= last_ || out_of_patience(); }
  // Counts an update that was made, or one that was skipped because its gradient was not finite.
  // forgiven: skipping it is no fault, as when a loss scale overflows and is lowered now.
  void count_update(bool applied, bool forgiven = false);
  // What to do when too many were skipped.
  std::string advice();

  // Tells what is trained, by which device, at which layout. what: the rest of the line.
  void tell_start(Device device, const std::string& what) const;
  // The steps that are left. True when it was asked to stop; all is committed then.
  bool to_end(Learner& learner);
  void tell_end(bool stopped, const std::string& summary) const;
  // Of the newest evaluation.
  const Scores& scores() const { return scores_; }

 private:
  void take_best(const RunState& stored);
  void open_best();
  bool out_of_patience() const;
  bool learnt() const { return saved_step_ < 0 || good_step_ == saved_step_; }
  void advance(Learner& learner);
  bool learn(Learner& learner);
  void evaluate(Learner& learner);
  void save(Learner& learner, bool must);
  void begin_commit(Learner& learner, bool must);
  bool wait_for_commit();
  void follow_commit(bool wait, bool must);
  void if_it_fails(bool must, const std::function<void()>& commit);
  void commit_end(Learner& learner, bool stopped);
  void profile(bool over);

  PretrainConfig& config_;
  RunWords words_;
  int64_t last_;
  MeshShape shape_;
  Mesh mesh_;
  RunFolder folder_;
  std::unique_ptr<checkpoint::RunClaim> claim_;
  Stragglers stragglers_;
  CommitSchedule commits_;
  std::unique_ptr<RunData> data_;
  std::unique_ptr<checkpoint::CheckpointStore> store_, best_;
  bool compares_ = false;
  RunState state_;
  Scores scores_;
  int64_t began_ = 0, saved_step_ = -1, evaluated_step_ = -1;
  int64_t good_step_ = -1;   // as restart_advice has it
  int64_t begun_step_ = -1;  // of the commit that was begun last, and when
  double commit_begun_ = 0;
  bool learnt_since_ = false, told_memory_ = false;
  int failed_saves_ = 0;
  bool loaded_ = false;  // and not asked to stop before
  int64_t profile_origin_ = 0;
  std::unique_ptr<StopRequest> stop_;  // of to_end(), as what follows
  std::unique_ptr<Meeting> meeting_;
};

}  // namespace skein::train
