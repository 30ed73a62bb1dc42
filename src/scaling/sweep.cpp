#include "skein/scaling/sweep.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <new>
#include <set>
#include <thread>

#include "cell_folder.h"
#include "divergence.h"
#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/scaling/results_store.h"
#include "skein/train/language_task.h"
#include "skein/train/progress.h"
#include "skein/train/stop.h"
#include "skein/train/trainer.h"
#include "sweep_parts.h"
#include "trainer_queue.h"

namespace skein {
namespace {

constexpr auto kMostWait = std::chrono::seconds(30);
constexpr auto kPause = std::chrono::milliseconds(20);

double seconds_since(std::chrono::steady_clock::time_point then) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count(); }

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

double held_out_loss(const Scores& scores) {
  for (const auto& [name, value] : scores.values)
    if (name == "validation_loss") return value;
  return kUnknown;
}

std::string options_text(PretrainConfig run) {
  Options options("skein pretrain", "");
  bind(options, run);
  return options.resolved();
}

class Sweep {
 public:
  Sweep(const SweepConfig& config, Group& world, const std::string& resolved)
      : config_(config), world_(world), dir_(config.run.run.dir), cells_(checked_cells(config, world)) {
    for (const SweepCell& cell : cells_) folders_.emplace_back(dir_ + "/cells/" + cell.name);
    agree(world_, [&] {
      if (world_.rank() == 0) prepare(resolved);
    });
    for (size_t i = 0; i < cells_.size(); ++i)
      if (folders_[i].finished()) finished_before_.insert(i);
    log::info("{} cells, {} of them finished, {} trainers of {} ranks; all of it in {}", cells_.size(), finished_before_.size(),
              world_.size() / config_.ranks_per_run, config_.ranks_per_run, dir_);
    trainer_ = world_.split(world_.rank() / static_cast<int>(config.ranks_per_run), world_.rank());
  }

  SweepResult run() {
    const StopRequest stop(dir_);
    TrainerQueue queue(cells_, folders_);
    while (!stopped_) {
      stopped_ = stop.agreed(*trainer_);
      const int64_t cell = stopped_ ? -1 : queue.next(*trainer_);
      if (cell < 0) break;
      train_cell(static_cast<size_t>(cell));
      queue.release();
    }
    SweepResult result;
    result.stopped = world_.any(stopped_);
    result.trained = world_.sum(trainer_->rank() == 0 ? trained_ : 0);
    agree(world_, [&] {
      if (world_.rank() == 0) publish();
    });
    result.runs = rows(cells_, folders_);
    if (result.stopped) stop.clear();
    return result;
  }

 private:
  void prepare(const std::string& resolved) {
    make_directories(dir_ + "/cells");
    for (size_t i = 0; i < cells_.size(); ++i) folders_[i].check(settings_of(cells_[i].run));
    const auto lock = FileLock::wait(dir_ + "/results.lock");
    if (!resolved.empty()) replace_file(dir_ + "/config.ini", resolved);
    for (const CellFolder& folder : folders_)
      if (const auto held = folder.claim(); held && folder.outcome().status == "failed") folder.forget_result();
    tell_others();
  }

  void tell_others() const {
    int64_t others = 0;
    std::set<std::string> own;
    for (const CellFolder& folder : folders_) own.insert(folder.path());
    for (const auto& entry : std::filesystem::directory_iterator(dir_ + "/cells"))
      if (!own.contains(dir_ + "/cells/" + entry.path().filename().string())) ++others;
    if (others > 0) log::warn("{}/cells holds {} folders that are no cells of this design; they are left out of the results", dir_, others);
  }

  void train_cell(size_t index) {
    const SweepCell& cell = cells_[index];
    const CellFolder& folder = folders_[index];
    agree(*trainer_, [&] {
      if (trainer_->rank() == 0) folder.begin(settings_of(cell.run));
    });
    PretrainConfig run = cell.run;
    run.run.dir = folder.path();
    Scores scores;
    const std::string failure = failure_in(run, scores);
    if (!failure.empty()) meet(folder);
    if (stopped_) return;
    ++trained_;
    agree(*trainer_, [&] {
      if (trainer_->rank() == 0) finish(index, failure, held_out_loss(scores));
    });
    require_success(cell, failure);
  }

  // What went wrong with a cell, for which all ranks of its trainer are to blame alike; our own bugs end the job.
  std::string failure_in(const PretrainConfig& run, Scores& scores) {
    const Quiet quiet(config_.verbose);
    try {
      const TrainResult result = pretrain(run, *trainer_, options_text(run));
      stopped_ = result.stopped;
      scores = result.validation;
    } catch (const Error& error) {
      if (error.code() == ExitCode::internal || error.code() == ExitCode::watchdog) throw;
      return in_one_line(error.what());
    } catch (const std::bad_alloc&) {
      return "out of memory";
    }
    return "";
  }

  // A failure of one rank alone leaves the others waiting for it for ever, and only the end of the job frees them.
  void meet(const CellFolder& folder) {
    if (trainer_->size() == 1) return;
    const auto mark = [&](int rank) { return fmt::format("{}/failed.{}", folder.path(), rank); };
    replace_file(mark(trainer_->rank()), "");
    const auto begin = std::chrono::steady_clock::now();
    for (int rank = 0; rank < trainer_->size(); ++rank)
      while (!std::filesystem::exists(mark(rank))) {
        if (std::chrono::steady_clock::now() - begin > kMostWait) fail("{}: a rank failed alone", folder.path());
        std::this_thread::sleep_for(kPause);
      }
    trainer_->barrier();
    std::filesystem::remove(mark(trainer_->rank()));
  }

  void finish(size_t index, const std::string& failure, double loss) {
    const SweepCell& cell = cells_[index];
    const CellFolder& folder = folders_[index];
    CellOutcome outcome = folder.measured(cell.batch_tokens());
    outcome.loss = loss;
    outcome.reason = failure.empty() ? divergence(outcome, cell.run.model.vocab_size, cell.run.data) : failure;
    const bool diverged = failure.empty() ? !outcome.reason.empty() : folder.ended_without_gradient();
    outcome.status = diverged ? "diverged" : failure.empty() ? "done" : "failed";
    folder.finish(outcome);
    if (outcome.status != "failed" && !config_.keep_weights) folder.remove_checkpoints();
    publish();
    tell(cell, outcome);
  }

  void require_success(const SweepCell& cell, const std::string& failure) {
    const std::string status = from_root(*trainer_, [&] { return failure.empty() ? "" : folder_of(cell).outcome().status; });
    if (config_.fail_fast && status == "failed") fail("cell {} failed, and sweep.fail_fast ends the sweep with it: {}", cell.name, failure);
  }
  const CellFolder& folder_of(const SweepCell& cell) const { return folders_[static_cast<size_t>(&cell - cells_.data())]; }

  void publish() const {
    const auto lock = FileLock::wait(dir_ + "/results.lock");
    std::vector<Settings> settings;
    for (const SweepCell& cell : cells_) settings.push_back(settings_of(cell.run));
    const std::vector<ScalingRun> all = rows(cells_, folders_);
    replace_file(dir_ + "/results.csv", table_csv(all));
    replace_file(dir_ + "/curves.csv", curves_csv(all));
    write_store(dir_ + "/results.h5", all, settings);
  }

  // By whichever trainer's first rank.
  void tell(const SweepCell& cell, const CellOutcome& outcome) const {
    size_t finished = 0;
    double left = 0, all = 0, made = 0;
    for (size_t i = 0; i < cells_.size(); ++i) {
      const bool over = folders_[i].finished();
      finished += over;
      all += cells_[i].flops;
      if (!over) left += cells_[i].flops;
      else if (!finished_before_.contains(i)) made += cells_[i].flops;
    }
    const std::string end = outcome.status == "done" ? fmt::format("loss {:.4f}", outcome.loss) : outcome.status + ": " + outcome.reason;
    log::write(outcome.status == "done" ? log::Level::info : log::Level::warn,
               fmt::format("{}/{}  {}  N {}  D {}  C {:.2e}  {}  in {}  | {:.1f}% of the FLOPs left, ETA {}", finished, cells_.size(), cell.name,
                           readable_count(cell.counts.all), readable_count(cell.tokens), cell.flops, end, readable_seconds(outcome.seconds), 100 * left / all,
                           readable_seconds(left / made * seconds_since(begin_))));
  }

  // The lines of a cell's own run are for its metrics; only what needs attention is shown.
  class Quiet {
   public:
    explicit Quiet(bool verbose) {
      if (!verbose) log::set_level(log::Level::warn);
    }
    ~Quiet() { log::set_level(log::Level::info); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
  };

  const SweepConfig& config_;
  Group& world_;
  std::string dir_;
  std::vector<SweepCell> cells_;
  std::vector<CellFolder> folders_;
  std::unique_ptr<Group> trainer_;
  std::set<size_t> finished_before_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int64_t trained_ = 0;
  bool stopped_ = false;
};

}  // namespace

int64_t SweepResult::count(const std::string& status) const {
  return std::count_if(runs.begin(), runs.end(), [&](const ScalingRun& run) { return run.status == status; });
}

SweepConfig settled(SweepConfig config) {
  const auto task = language_task(config.run);
  require(task->validates(), "data.validation is empty, but a sweep is judged by held-out loss; name a token store");
  return config;
}

SweepResult run_sweep(const SweepConfig& config, Group& world, const std::string& resolved) {
  require(!config.run.run.dir.empty(), "run.dir is empty, but a sweep keeps its results there; give a folder");
  return Sweep(config, world, resolved).run();
}

}  // namespace skein
