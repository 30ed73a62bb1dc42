#include "skein/train/trainer.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "skein/checkpoint/files.h"
#include "skein/checkpoint/parameters.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/core/profile.h"
#include "skein/tensor/buffer.h"
#include "skein/train/adapt.h"
#include "skein/train/best_weights.h"
#include "skein/train/language_task.h"
#include "skein/train/progress.h"
#include "skein/train/replica.h"
#include "skein/train/run_data.h"
#include "skein/train/run_folder.h"
#include "skein/train/run_state.h"
#include "skein/train/run_weights.h"
#include "skein/train/stop.h"

namespace skein {
namespace {

constexpr int kFailedSavesInARow = 3;

// Before the run is claimed: what is refused then ends no older start.
const PretrainConfig& checked(const PretrainConfig& config, const Task& task, int ranks) {
  check_start(config, ranks);
  check_run(config, task.length());
  require(config.validation.patience == 0 || task.validates(),
          "validation.patience={} needs validation data", config.validation.patience);
  return config;
}

class Trainer {
 public:
  Trainer(const PretrainConfig& config, const Task& task, Group& world, const std::string& resolved, const std::optional<CheckpointInfo>& start,
          std::unique_ptr<RunClaim> claim)
      : config_(checked(config, task, world.size())), task_(task), shape_(mesh_shape(config.parallel, world.size())),
        mesh_(world, shape_), folder_(config.run.dir, config.run.tensorboard),
        claim_(claim ? std::move(claim) : RunFolder::claim(config.run, world)),
        resume_from_(start ? start : find_start(world)),
        loss_scale_(config.train.loss_scale, config.precision()),
        data_(task.data_files(), mesh_.world()) {
    points_ = evaluation_steps(config.validation.points, config.train.steps);
    if (resume_from_) keep_groups();
    if (config_.train.micro_batch_open)
      config_.train.micro_batch = fitting_micro_batch(
          config_.parallel, shape_, config_.train.global_batch, config_.train.micro_batch);
    plan_ = plan_batch(config_.parallel, shape_, config.train.global_batch, config_.train.micro_batch);
    config_.parallel.reduction_groups = plan_.groups;
    replica_ = std::make_unique<Replica>(config_, plan_, mesh_, Learning{[&task](const LocalModel& model) { return task.objective(model); }, task.terms()});
    state_.reduction_groups = plan_.groups;
    state_.tokenizer = task.tokenizer();
    state_.notes = task.notes();
    if (claim_) config_.run.id = claim_->run();
    state_.data = data_.files();
    state_.config = config_values(config_);
    if (resume_from_) load();
    if (claim_) claim_->settle(world);
    folder_.begin(resolved, state_.step, world);
    if (!folder_.writes()) return;
    store_ =
        std::make_unique<CheckpointStore>(*claim_, static_cast<int>(config.checkpoint.keep), world);
    if (config.validation.patience > 0)
      best_ = std::make_unique<CheckpointStore>(folder_.path() + "/best", 1, world, claim_->run());
  }

  TrainResult run();

 private:
  std::optional<CheckpointInfo> find_start(Group& world);
  void keep_groups();
  // Whether it is this run's own checkpoint that it begins from.
  bool goes_on() const { return folder_.writes() && resume_from_->path.starts_with(folder_.checkpoints() + "/"); }
  void load();
  void save(bool must);
  // The steps and evaluations that are left; Interrupted in an evaluation.
  void learn(TrainResult& result, Progress& progress);
  void make_owed_evaluation();
  void commit_end(const TrainResult& result);
  void after_step(const StepResult& result, double lr, Progress& progress);
  Scores evaluate();
  bool evaluation_due() const {
    const int64_t every = config_.validation.every;
    return (every > 0 && state_.step % every == 0) || std::binary_search(points_.begin(), points_.end(), state_.step);
  }
  void compare_with_best(const Scores& scores);
  void go_on_with_best(const RunState& stored);
  std::string state_text();
  // meeting: where it may be interrupted.
  Judged judged(Meeting* meeting = nullptr) { return {replica_->pipeline(), replica_->model().pass(), mesh_, config_.train.micro_batch, meeting}; }
  void profile(int64_t steps_done, bool over);
  void count_skipped(const StepResult& result);
  double rate() const {
    const int64_t length = task_.length();
    return learning_rate(config_.lr, {state_.step, state_.samples * length, config_.train.steps, config_.train.global_batch * length});
  }
  bool out_of_patience() const { return config_.validation.patience > 0 && state_.fruitless >= config_.validation.patience; }
  std::string advice() { return restart_advice(folder_.checkpoints(), saved_step_, good_step_, mesh_.world()); }
  // Whether an update was made since the newest commit.
  bool learnt() const { return saved_step_ < 0 || good_step_ == saved_step_; }
  bool done() const { return state_.step >= config_.train.steps || out_of_patience(); }
  void tell_start() const;
  void tell_memory() const;

  PretrainConfig config_;
  const Task& task_;
  MeshShape shape_;
  Mesh mesh_;
  RunFolder folder_;
  std::unique_ptr<RunClaim> claim_;
  std::optional<CheckpointInfo> resume_from_;
  BatchPlan plan_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<CheckpointStore> store_, best_;
  RunState state_;
  std::vector<int64_t> points_;
  LossScale loss_scale_;
  RunData data_;
  int64_t saved_step_ = -1, evaluated_step_ = -1;
  int64_t good_step_ = -1;  // as restart_advice has it
  Scores evaluated_;
  int failed_saves_ = 0;
  int64_t profile_origin_ = 0, began_ = 0;
  std::unique_ptr<StopRequest> stop_;  // of run(), as what follows
  std::unique_ptr<Meeting> meeting_;
};

std::optional<CheckpointInfo> Trainer::find_start(Group& world) {
  if (folder_.writes())
    if (auto found = find_own_checkpoint(config_.run, world)) return found;
  if (config_.checkpoint.load.empty()) return std::nullopt;
  const bool weights = task_.adapts() || config_.checkpoint.weights_only;
  auto found = weights ? find_weights(config_.checkpoint.load, world) : find_checkpoint(config_.checkpoint.load, world);
  require(found.has_value(), "checkpoint.load={}", no_checkpoint(config_.checkpoint.load));
  return found;
}

void Trainer::keep_groups() {
  const RunState stored = run_state(resume_from_->metadata, resume_from_->path);
  // An import has summed nothing yet.
  const bool nothing_summed = !stored.imported.empty() && stored.optimizer_steps == 0;
  if (nothing_summed || (task_.adapts() && !goes_on())) return;
  take_over_groups(stored.reduction_groups, resume_from_->path, shape_.dp, config_);
}

void Trainer::load() {
  const std::string& path = resume_from_->path;
  const bool own = goes_on();
  const RunState stored = run_state(resume_from_->metadata, path);
  if (!own && task_.adapts()) {
    adapt(*replica_, *resume_from_, task_, stored.notes, mesh_.world());
    state_.imported = stored.imported;
    return;
  }
  const bool only_weights_there = !stored.imported.empty() && stored.optimizer_steps == 0;
  const bool weights_only = (config_.checkpoint.weights_only || only_weights_there) && !own;
  if (!weights_only) data_.go_on({stored.data, path, own, config_.checkpoint.other_data});
  task_.check_notes(stored.notes, path);
  const auto frozen = stored.config.find("train.frozen_layers");
  require(weights_only || frozen == stored.config.end() || frozen->second == std::to_string(config_.train.frozen_layers),
          "{} was trained with train.frozen_layers={}, now it is {}, and other tensors have moments then; give the same, or begin from its weights: "
          "another run.dir with checkpoint.load={}", path, frozen == stored.config.end() ? "" : frozen->second, config_.train.frozen_layers, path);
  const std::string changes = compare_with_stored(stored, config_, state_.tokenizer, path);
  std::vector<Piece> targets = replica_->optimizer().pieces(false);
  if (weights_only) std::erase_if(targets, [](const Piece& piece) { return !piece.name.starts_with("param/"); });
  load_checkpoint(*resume_from_, targets, !weights_only, mesh_.world());
  replica_->optimizer().loaded(weights_only ? 0 : stored.optimizer_steps);
  state_.imported = stored.imported;
  if (!weights_only) {
    state_.step = stored.step;
    state_.samples = stored.samples;
    state_.optimizer_steps = stored.optimizer_steps;
    state_.skipped_in_a_row = stored.skipped_in_a_row;
    loss_scale_.restore(stored.loss_scale, stored.good_steps);
  }
  if (own) saved_step_ = stored.step;
  state_.validation_owed = own && stored.validation_owed;
  if (own) go_on_with_best(stored);
  log::info("{} {} (step {})", weights_only ? "begins with the weights of" : "goes on from", path, stored.step);
  if (!changes.empty()) log::info("options that changed since then:{}", changes);
}

void Trainer::go_on_with_best(const RunState& stored) {
  if (!best_is_kept(folder_.path(), stored, mesh_.world())) return;
  if (config_.validation.patience > 0) return take_best(stored, state_);
  log::warn("{}/best is from step {} and no longer compared, since validation.patience is 0",
            folder_.path(), stored.best_step);
}

std::string Trainer::state_text() {
  state_.notes = task_.measured_notes(judged());
  state_.optimizer_steps = replica_->optimizer().steps();
  state_.loss_scale = loss_scale_.value();
  state_.good_steps = loss_scale_.good_steps();
  return to_json(state_, shape_);
}

// A save that fails leaves the earlier checkpoints as they are; training goes on and tries again at the next interval.
// Not so once another process writes the run. must: at the end, and where the run is stopped.
void Trainer::save(bool must) {
  if (!store_ || saved_step_ == state_.step) return;
  if (state_.skipped_in_a_row > 0)
    return log::warn("no checkpoint at step {}: its gradient norm is not finite", state_.step);
  // A loss scale shrinks for long where the newest commit's weights are what is wrong; more commits of them would only
  // come in the way of a good one.
  if (!learnt() && !done())
    return log::info("no checkpoint at step {}: nothing was learnt since that of step {}", state_.step, saved_step_);
  if (!data_.finish_within(must ? config_.run.data_wait : std::chrono::milliseconds(0))) return;
  release_unused_memory();
  folder_.sync(claim_.get());
  try {
    store_->save(state_.step, replica_->optimizer().pieces(true), state_text(),
                 saved_step_ < 0 ? std::nullopt : std::optional(good_step_));
    saved_step_ = state_.step;
    failed_saves_ = 0;
  } catch (const Error& error) {
    const bool over = must || error.code() == ExitCode::superseded;
    if (over || ++failed_saves_ >= kFailedSavesInARow) throw;
    log::warn("no checkpoint at step {}: {}; the run goes on, the next attempt is {} steps away", state_.step, error.what(),
              config_.checkpoint.every);
  }
}

Scores Trainer::evaluate() {
  if (evaluated_step_ == state_.step) return evaluated_;
  state_.validation_owed = true;
  if (best_) data_.finish(meeting_.get());
  const Scores scores = task_.validate(judged(meeting_.get()));
  state_.validation_owed = false;
  log::info("step {}  validation: {}", state_.step, scores.text);
  folder_.record(state_.step, scores.values);
  compare_with_best(scores);
  evaluated_step_ = state_.step;
  return evaluated_ = scores;
}

void Trainer::compare_with_best(const Scores& scores) {
  if (config_.validation.patience == 0) return;
  keep_if_best(
      state_, scores.quality, best_.get(), [this] { return replica_->optimizer().pieces(true); },
      [this] { return state_text(); });
}

void Trainer::count_skipped(const StepResult& result) {
  if (result.applied) good_step_ = saved_step_;
  const double scale = loss_scale_.value();
  if (loss_scale_.after_step(!result.applied)) {
    if (!result.applied) log::info("step {}: gradients overflow at a loss scale of {}; the step is skipped, the scale now {}", state_.step, scale, loss_scale_.value());
    state_.skipped_in_a_row = 0;
    return;
  }
  state_.skipped_in_a_row = result.applied ? 0 : state_.skipped_in_a_row + 1;
  if (result.applied) return;
  if (state_.skipped_in_a_row >= config_.train.max_skipped)
    fail(
        "step {}: the gradient norm was not finite {} steps in a row (loss {}); {} with a lower "
        "lr.lr than {}, or look at the data",
        state_.step, state_.skipped_in_a_row, shown_number(result.loss), advice(),
        config_.lr.lr);
  log::warn("step {}: the gradient norm is {} (loss {}); the step is skipped", state_.step,
            shown_number(result.grad_norm), shown_number(result.loss));
}

void Trainer::after_step(const StepResult& result, double lr, Progress& progress) {
  progress.step_done(state_.step, result);
  auto values = progress.values(result, lr);
  values.emplace_back("tokens", static_cast<double>(state_.samples * task_.length()));
  const auto terms = task_.terms();
  for (size_t i = 0; i < terms.size(); ++i)
    if (!terms[i].name.empty()) values.emplace_back(terms[i].name, result.terms[i]);
  if (config_.precision() == DType::f16) values.emplace_back("loss_scale", loss_scale_.value());
  folder_.record(state_.step, values);
  if (state_.step % config_.run.log_every == 0 || done()) log::info("{}", progress.line(result, lr));
  count_skipped(result);
  if (task_.validates() && evaluation_due() && !done()) evaluate();
  if (config_.checkpoint.every > 0 && state_.step % config_.checkpoint.every == 0 && !done()) save(false);
}

void Trainer::tell_start() const {
  log::info("{} parameters, {} by {} | pipeline {} x data {} x tensor {} | {} sequences of {} tokens a step",
            readable_count(static_cast<double>(config_.model.parameters())), name_of(config_.precision()),
            unit_of(replica_->model().parameters().device(), config_.precision()), shape_.pp, shape_.dp, shape_.tp,
            config_.train.global_batch, task_.length());
  if (!folder_.writes()) log::warn("run.dir is empty: this run leaves no checkpoint and no metrics");
}

void Trainer::tell_memory() const {
  const ReplicaMemory m = replica_->memory();
  const auto text = [](double bytes) { return readable_size(static_cast<int64_t>(bytes)); };
  log::info("memory of rank 0: parameters {}, gradients {}, optimizer {}, packed weights {}, work space {} (activations of rows of {} tokens by formula {})",
            readable_size(m.parameters), readable_size(m.gradients), readable_size(m.optimizer), readable_size(m.packed),
            readable_size(m.work), m.longest, text(m.activations));
}

// The first two steps fill caches and take memory, so the profile begins after them.
void Trainer::profile(int64_t steps_done, bool over) {
  const int64_t steps = config_.run.profile;
  if (profile_origin_ && (over || steps_done == 2 + steps)) {
    folder_.write_profile(Profile::stop(), profile_origin_, mesh_.world());
    profile_origin_ = 0;
  } else if (steps > 0 && steps_done == 2 && !over) {
    mesh_.world().barrier();
    profile_origin_ = Profile::start();
  }
}

// What the checkpoint that this start goes on from would have said of its step.
void Trainer::make_owed_evaluation() {
  if (!state_.validation_owed || done()) return;
  if (task_.validates()) evaluate();
  state_.validation_owed = false;
}

void Trainer::learn(TrainResult& result, Progress& progress) {
  Prefetcher prefetcher(task_.samples(), plan_.samples_per_rank);
  const bool commits = !done() || saved_step_ != state_.step;
  if (commits && !config_.run.data_compared) data_.begin();
  const int64_t begin = began_ = state_.step;
  // What came while this was loaded, where another looked (a sweep). A file is looked for after each step.
  result.stopped = !done() && mesh_.world().any(stop_signal() != 0);
  if (result.stopped) return stop_->taken();
  make_owed_evaluation();
  while (!done() && !result.stopped) {
    profile(state_.step - begin, false);
    const int64_t first = replica_->own_first(state_.samples), next = first + config_.train.global_batch;
    const double lr = rate();
    task_.before_step(judged(), state_.samples, config_.train.global_batch);
    const StepResult step = replica_->step(prefetcher.take(first, next), state_.step, lr, loss_scale_.value());
    result.losses.push_back(step.loss);
    result.grad_norms.push_back(step.grad_norm);
    ++state_.step;
    state_.samples += config_.train.global_batch;
    if (state_.step == begin + 1) tell_memory();
    data_.look();
    after_step(step, lr, progress);
    result.stopped = !done() && stop_->agreed(mesh_.world());
  }
  profile(state_.step - begin, true);
  if (result.stopped) return;
  if (task_.validates()) result.validation = evaluate();
  if (store_) data_.finish(meeting_.get());
}

void Trainer::commit_end(const TrainResult& result) {
  if (!result.stopped || state_.step != began_) save(true);
  if (store_ && !result.stopped && saved_step_ != state_.step)
    fail(
        "step {}, the last one, has no finite gradient norm, and what it leaves is not committed: {} with a "
        "lower lr.lr than {}, or look at the data",
        state_.step, advice(), config_.lr.lr);
  if (best_ && state_.best_step >= 0) log::info("best at step {}: {}/best", state_.best_step, folder_.path());
  if (result.stopped) stop_->clear();
}

TrainResult Trainer::run() {
  TrainResult result;
  tell_start();
  stop_ = std::make_unique<StopRequest>(folder_.path());
  meeting_ = std::make_unique<Meeting>(mesh_.world(), [this] { return stop_->asked(mesh_.world()); });
  Progress progress(state_.step, config_.train.steps, config_.run.peak_flops);
  if (done()) log::info("step {} of {} is done already; raise {} to go on", state_.step, config_.train.steps,
                        out_of_patience() ? "validation.patience" : "train.steps");
  try {
    learn(result, progress);
  } catch (const Interrupted&) {
    result.stopped = true;
    stop_->taken();
    profile(0, true);
  }
  commit_end(result);
  log::info("{}: {}{}", result.stopped ? "stopped as asked" : "done", progress.summary(),
            folder_.writes() ? "; all of it is in " + folder_.path() : "");
  result.step = state_.step;
  result.committed = saved_step_ >= 0;
  return result;
}

}  // namespace

TrainResult train(const PretrainConfig& config, const Task& task, Group& world, const std::string& resolved, const std::optional<CheckpointInfo>& start,
                  std::unique_ptr<RunClaim> claim) {
  return Trainer(config, task, world, resolved, start, std::move(claim)).run();
}

TrainResult pretrain(PretrainConfig config, Group& world, const std::string& resolved) {
  const auto task = language_task(config);
  return train(config, *task, world, resolved);
}

}  // namespace skein
