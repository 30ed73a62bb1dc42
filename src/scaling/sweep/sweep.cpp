#include "skein/scaling/sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/checkpoint.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/models/architecture.h"
#include "skein/train/run_data.h"
#include "skein/train/stop.h"
#include "skein/train/trainer.h"

#include "failure_meeting.h"
#include "folder.h"
#include "parts.h"
#include "progress.h"
#include "trainer_queue.h"

namespace skein::scaling::sweep {
namespace {

// Ranks that meet the same failure are at most a step apart.
constexpr auto kPatience = std::chrono::seconds(10);

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

double held_out_loss(const train::Scores& scores) {
  for (const auto& [name, value] : scores.values)
    if (name == "loss") return value;
  return kUnknown;
}

std::string options_text(train::PretrainConfig run, SweepConfig config) {
  Options options("skein pretrain", "");
  bind_run(options, run, config);
  return options.resolved();
}

void require_held_out_data(const train::Task& task) {
  require(task.validates(),
          "data.validation is empty, but a sweep is judged by held-out loss; name a store");
}

// Of config.run. Collective: what one rank cannot open ends all of them.
std::unique_ptr<train::Task> judged_task(const SweepConfig& config, Group& world) {
  std::unique_ptr<train::Task> task;
  checkpoint::agree(world, [&] {
    train::PretrainConfig run = config.run;
    task = task_of(config, run);
    require_held_out_data(*task);
  });
  return task;
}

// Collective. `step` on rank 0; its failure is one of all ranks.
void on_root(Group& group, const std::function<void()>& step) {
  checkpoint::agree(group, [&] {
    if (group.rank() == 0) step();
  });
}

// What one rank makes of a cell.
struct Attempt {
  std::string failure;  // "": none
  bool stopped = false;
  double loss = kUnknown;
};

class Sweep {
 public:
  Sweep(const SweepConfig& config, Group& world, const std::string& resolved)
      : config_(config),
        world_(world),
        task_(judged_task(config, world)),
        cells_(checked_cells(config, *task_, world)),
        folder_(config, *task_, cells_) {
    on_root(world_, [&] {
      folder_.prepare(resolved);
      folder_.enter();
    });
    progress_ = std::make_unique<SweepProgress>(cells_, folder_.cells(), task_->held_out_tokens());
    if (world_.any(progress_->finished_before() < cells_.size())) compare_data();
    log::info("{} cells, {} of them finished, {} trainers of {} ranks; all of it in {}",
              cells_.size(), progress_->finished_before(), world_.size() / config_.ranks_per_run,
              config_.ranks_per_run, folder_.path());
    trainer_ = world_.split(world_.rank() / narrow<int>(config.ranks_per_run), world_.rank());
    meeting_ = std::make_unique<FailureMeeting>(*trainer_);
  }

  SweepResult run() {
    stop_ = std::make_unique<train::StopRequest>(folder_.path());
    train_cells();
    SweepResult result;
    result.stopped = world_.any(stopped_);
    result.trained = world_.sum(trainer_->rank() == 0 ? trained_ : 0);
    on_root(world_, [&] {
      folder_.publish();
      if (folder_.leave() && result.stopped) stop_->clear();
    });
    result.runs = folder_.rows();
    return result;
  }

 private:
  // Once for all cells, and before the first: a wrong sum is no fault of a cell.
  void compare_data() const {
    train::RunData stores(task_->data_files(), world_);
    stores.begin();
    stores.finish();
  }

  void train_cells() {
    TrainerQueue queue(cells_, folder_.cells());
    while (!stopped_) {
      stopped_ = stop_->agreed(*trainer_);
      const int64_t cell = stopped_ ? -1 : queue.next(*trainer_);
      if (cell < 0) break;
      train_cell(cell);
      queue.release();
    }
  }

  void train_cell(size_t index) {
    set_aside_damaged(index);
    on_root(*trainer_, [&] { folder_.begin(index); });
    const Attempt attempt = attempt_at(index);
    const std::string failure = meeting_->outcome(
        attempt.failure, kPatience, [&] { return failed_alone(index, attempt.failure); });
    if (trainer_->rank() == 0) folder_.cell(index).end();
    stopped_ = failure.empty() && attempt.stopped;
    if (stopped_) return;
    ++trained_;
    std::string status;
    on_root(*trainer_, [&] { status = finish(index, failure, attempt.loss); });
    status = trainer_->broadcast(status, 0);
    if (config_.fail_fast && status == "failed")
      fail("cell {} failed, and sweep.fail_fast ends the sweep with it: {}", cells_[index].name,
           failure);
  }

  // Checkpoints of which none can be used would end every start at this cell, and losing them costs
  // no more than its steps.
  void set_aside_damaged(size_t index) const {
    const CellFolder& folder = folder_.cell(index);
    const std::string refused = why_no_start(folder);
    if (refused.empty()) return;
    on_root(*trainer_, [&] { folder.set_aside_checkpoints(); });
    if (trainer_->rank() > 0) return;
    log::write(log::Level::warn,
               fmt::format("cell {} begins anew, for it has no checkpoint that can be used; they "
                           "are now in {}/refused-checkpoints: {}",
                           cells_[index].name, folder.path(), refused));
  }

  // "" where there is a checkpoint that can be used, or none at all. The run itself tells which
  // ones it passes over.
  std::string why_no_start(const CellFolder& folder) const {
    const log::LevelScope quiet(log::Level::error);
    const std::string text =
        refusal_of([&] { checkpoint::find_checkpoint(folder.checkpoints(), *trainer_); });
    return in_one_line(text.substr(0, text.rfind('\n')));  // without the advice to name another one
  }

  // Our own bugs end the job.
  Attempt attempt_at(size_t index) const {
    // The lines of a cell's own run are for its metrics; only what needs attention is shown.
    const log::LevelScope quiet(config_.verbose ? log::Level::info : log::Level::warn);
    const auto ends_the_job = [&](ExitCode code, const std::exception& error) {
      return Error(code, fmt::format("cell {}: {}", cells_[index].name, error.what()));
    };
    try {
      return trained(index);
    } catch (const Error& error) {
      if (error.code() == ExitCode::internal || error.code() == ExitCode::watchdog ||
          error.code() == ExitCode::superseded)
        throw ends_the_job(error.code(), error);
      return {in_one_line(error.what())};
    } catch (const std::bad_alloc&) {
      return {"out of memory"};
    } catch (const std::exception& error) {
      throw ends_the_job(ExitCode::internal, error);
    }
  }

  Attempt trained(size_t index) const {
    train::PretrainConfig run = cells_[index].run;
    run.run.dir = folder_.cell(index).path();
    run.run.takeover = 0;  // nobody else is at work there: this trainer holds the cell's lock
    run.run.data_compared = true;
    const std::string text = options_text(run, config_);
    const auto task = task_of(config_, run);
    if (stop_->agreed(*trainer_)) return {"", true};
    const train::TrainResult result = train::train(run, *task, *trainer_, text);
    return {"", result.stopped, held_out_loss(result.validation)};
  }

  // By a rank that the others of its trainer wait for: the job ends with what this returns.
  std::string failed_alone(size_t index, const std::string& reason) const {
    const std::string text = fmt::format("on rank {} alone: {}", world_.rank(), reason);
    CellOutcome outcome;
    outcome.status = "failed";
    outcome.reason = text;
    const std::string unmarked = checkpoint::failure_of([&] {
      folder_.cell(index).finish(outcome);
      folder_.publish();
    });
    return fmt::format(
        "cell {} failed {}. The other ranks of its trainer wait for that one, so the whole job "
        "ends. Start it again: the other cells go on where they are, and this one comes last{}",
        cells_[index].name, text, unmarked.empty() ? "" : "; it could not be marked: " + unmarked);
  }

  // What became of it.
  std::string finish(size_t index, const std::string& failure, double loss) const {
    const CellFolder& folder = folder_.cell(index);
    const CellOutcome outcome = outcome_of(index, failure, loss);
    folder.finish(outcome);
    if (outcome.status != "failed" && !config_.keep_weights) folder.remove_checkpoints();
    folder_.publish();
    log::write(outcome.status == "done" ? log::Level::info : log::Level::warn,
               progress_->line(cells_[index], outcome));
    return outcome.status;
  }

  CellOutcome outcome_of(size_t index, const std::string& failure, double loss) const {
    const SweepCell& cell = cells_[index];
    const CellFolder& folder = folder_.cell(index);
    CellOutcome outcome = folder.measured(cell.batch_tokens());
    outcome.loss = loss;
    outcome.reason = failure;
    if (!failure.empty()) {
      outcome.status = folder.ended_without_gradient() ? "diverged" : "failed";
    } else if (const int64_t wanted = evaluations_of(cell); outcome.evaluations < wanted) {
      folder.remove_checkpoints();
      outcome.status = "failed";
      outcome.loss = kUnknown;
      outcome.reason = fmt::format(
          "its metrics.jsonl holds {} of {} held-out losses (was the disk full?); it begins anew",
          outcome.evaluations, wanted);
    } else {
      outcome.reason = divergence(outcome, cell.run);
      outcome.status = outcome.reason.empty() ? "done" : "diverged";
    }
    return outcome;
  }

  const SweepConfig& config_;
  Group& world_;
  const std::unique_ptr<train::Task> task_;
  const std::vector<SweepCell> cells_;
  SweepFolder folder_;
  std::unique_ptr<SweepProgress> progress_;
  std::unique_ptr<Group> trainer_;
  std::unique_ptr<FailureMeeting> meeting_;
  std::unique_ptr<train::StopRequest> stop_;  // of run()
  int64_t trained_ = 0;
  bool stopped_ = false;
};

}  // namespace

int64_t SweepResult::count(const std::string& status) const {
  return std::ranges::count(runs, status, &ScalingRun::status);
}

SweepConfig settled(SweepConfig config) {
  const ModelConfig& model = config.run.model;
  require(!model.architecture->maps_source(model),
          "model.architecture={}: sweeps are of models that read one text, a picture, a graph or a "
          "story, not of encoder-decoders",
          model.architecture->name());
  const auto task = task_of(config, config.run);
  require_held_out_data(*task);
  config.run.train.precision = config.run.precision();
  return config;
}

SweepResult run_sweep(const SweepConfig& config, Group& world, const std::string& resolved) {
  require(!config.run.run.dir.empty(),
          "run.dir is empty, but a sweep keeps its results there; give a folder");
  return Sweep(config, world, resolved).run();
}

}  // namespace skein::scaling::sweep
