#include "skein/train/trainer.h"

#include <algorithm>
#include <cmath>

#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/core/repeated_warnings.h"
#include "skein/core/strings.h"
#include "skein/kernels/threads.h"
#include "skein/tensor/cuda.h"
#include "skein/train/best_weights.h"
#include "skein/train/progress.h"
#include "skein/train/replica.h"
#include "skein/train/run.h"
#include "skein/train/run_weights.h"
#include "skein/train/start.h"

namespace skein::train {
namespace {

class Trainer : private Learner {
 public:
  Trainer(const PretrainConfig& config, Task& task, Group& world, const std::string& resolved,
          const std::optional<checkpoint::CheckpointInfo>& start,
          std::unique_ptr<checkpoint::RunClaim> claim);

  TrainResult run();

 private:
  std::optional<checkpoint::CheckpointInfo> find_start();
  void load(const StoredStart& start);
  void go_on(const RunState& stored);
  void advance() override;
  bool validates() const override { return task_.validates(); }
  bool evaluation_due() const override {
    const int64_t every = config_.validation.every, step = run_.state().step;
    return !run_.done() &&
           ((every > 0 && step % every == 0) || std::ranges::binary_search(points_, step));
  }
  bool evaluates_end() const override { return true; }
  Scores score(Meeting& meeting) override { return task_.validate(evaluated_model(&meeting)); }
  std::vector<checkpoint::Piece> tensors() override { return replica_->optimizer().pieces(true); }
  std::vector<checkpoint::Piece> best_weights() override {
    return replica_->optimizer().weights(true);
  }
  std::vector<Replicated> replicated() override { return replica_->optimizer().replicated(); }
  std::string state_text() override;
  // meeting: where it may be interrupted.
  EvaluatedModel evaluated_model(Meeting* meeting = nullptr) {
    LocalModel& local = replica_->model();
    return {replica_->pipeline(),      local.pass(), run_.mesh(),
            config_.train.micro_batch, meeting,      &local};
  }
  void record(const StepResult& result, double lr);
  void count(const StepResult& result);
  // Warns of a spike in the step that was just made, and goes back where that is wanted.
  void look_for_spike(const StepResult& result);
  void roll_back(Spike spike);
  double rate() const {
    const int64_t length = task_.length();
    const RunState& state = run_.state();
    return learning_rate(config_.lr, {state.step, state.samples * length, config_.train.steps,
                                      config_.train.global_batch * length});
  }
  std::string taken_on_gpus();
  void tell_memory();
  int idle_threads() const;

  PretrainConfig config_;
  const Task& task_;
  Run run_;
  std::optional<checkpoint::CheckpointInfo> resume_from_;
  BatchPlan plan_;
  std::unique_ptr<Replica> replica_;
  std::vector<int64_t> points_;
  LossScale loss_scale_;
  SpikeDetector spikes_;
  bool told_memory_ = false;
  RepeatedWarnings warnings_;
  TrainResult result_;
  std::unique_ptr<data::Prefetcher> prefetcher_;  // of run(), as what follows
  std::unique_ptr<Progress> progress_;
};

Trainer::Trainer(const PretrainConfig& config, Task& task, Group& world,
                 const std::string& resolved,
                 const std::optional<checkpoint::CheckpointInfo>& start,
                 std::unique_ptr<checkpoint::RunClaim> claim)
    : config_(checked_start(config, task.length(), task.validates(), world.size())),
      task_(task),
      run_(config_,
           {"step", "train.steps", "its gradient norm",
            ", the last one, has no finite gradient norm", ", or look at the data"},
           config.train.steps, world, std::move(claim)),
      resume_from_(start ? start : find_start()),
      points_(evaluation_steps(config.validation.points, config.train.steps)),
      loss_scale_(config.train.loss_scale, config.precision()),
      spikes_(config.spikes) {
  run_.set_data(task.data_files());
  std::optional<StoredStart> stored;
  if (resume_from_)
    stored = stored_start(*resume_from_, run_.folder().holds(*resume_from_), config_, task);
  plan_ = stored && stored->keeps_groups ? run_.plan(&stored->state, stored->path)
                                         : run_.plan(nullptr, "");
  const bool adapts = stored && stored->adapts;
  Learning learning{[&task](const LocalModel& model) { return task.objective(model); },
                    task.terms()};
  learning.start_values = !stored || adapts;
  replica_ = std::make_unique<Replica>(config_, plan_, run_.mesh(), learning);
  RunState& state = run_.state();
  state.tokenizer = task.tokenizer();
  state.notes = task.notes();
  state.config = config_values(config_);
  if (adapts) {
    adapt(*replica_, *resume_from_, task, stored->state.notes, run_.world());
    state.imported = stored->state.imported;
  } else if (stored) {
    load(*stored);
  }
  task.order_by(plan_, state.samples);
  run_.open(resolved, config.validation.patience > 0);
}

std::optional<checkpoint::CheckpointInfo> Trainer::find_start() {
  if (auto found = run_.own()) return found;
  return find_load(config_.checkpoint.load, task_.adapts() || config_.checkpoint.weights_only,
                   run_.world());
}

void Trainer::load(const StoredStart& start) {
  const TimedPhase loading("loading");
  const RunState& stored = start.state;
  if (!start.weights_only)
    run_.data().go_on({stored.data, start.path, start.own, config_.checkpoint.other_data});
  const std::string changes = compare_with_start(start, config_, task_);
  const ShardedOptimizer& optimizer = replica_->optimizer();
  const auto targets = start.weights_only ? optimizer.weights(false) : optimizer.pieces(false);
  load_checkpoint(*resume_from_, targets, !start.weights_only, run_.world());
  replica_->optimizer().loaded(start.weights_only ? 0 : stored.optimizer_steps);
  run_.state().imported = stored.imported;
  if (!start.weights_only) {
    run_.count_from(stored);
    restore(loss_scale_, stored);
    spikes_.restore(stored.spikes);
    run_.state().spikes = stored.spikes;
  }
  if (start.own) go_on(stored);
  log::info("{} {} (step {})", start.weights_only ? "begins with the weights of" : "goes on from",
            start.path, stored.step);
  tell_changes(changes);
}

// Behind a checkpoint of its own.
void Trainer::go_on(const RunState& stored) {
  const bool compared = config_.validation.patience > 0;
  run_.go_on(stored, compared);
  if (!compared && best_is_kept(run_.folder().path(), stored, run_.world()))
    log::warn("{}/best is from step {} and no longer compared, since validation.patience is 0",
              run_.folder().path(), stored.best_step);
}

std::string Trainer::state_text() {
  RunState& state = run_.state();
  state.notes = task_.measured_notes(evaluated_model());
  state.optimizer_steps = replica_->optimizer().steps();
  state.loss_scale = loss_scale_.value();
  state.good_steps = loss_scale_.good_steps();
  if (config_.spikes.action != SpikeConfig::Action::none) spikes_.keep(state.spikes);
  return to_json(state, run_.shape());
}

void Trainer::count(const StepResult& result) {
  const RunState& state = run_.state();
  const double scale = loss_scale_.value();
  // An overflow that a smaller scale may mend is no fault of the run.
  const bool finite = std::isfinite(result.grad_norm);
  const bool scaled = loss_scale_.after_step(!finite);
  run_.count_update(result.applied, scaled || finite);
  if (finite) return;
  if (scaled)
    return log::info(
        "step {}: gradients overflow at a loss scale of {}; the step is skipped, the scale now {}",
        state.step, scale, loss_scale_.value());
  if (state.skipped_in_a_row >= config_.train.max_skipped)
    fail(
        "step {}: the gradient norm was not finite {} steps in a row (loss {}); {} with a lower "
        "lr.lr than {}, or look at the data",
        state.step, state.skipped_in_a_row, shown_number(result.loss), run_.advice(),
        config_.lr.lr);
  log::warn("step {}: the gradient norm is {} (loss {}); the step is skipped", state.step,
            shown_number(result.grad_norm), shown_number(result.loss));
}

void Trainer::look_for_spike(const StepResult& result) {
  using Action = SpikeConfig::Action;
  if (config_.spikes.action == Action::none) return;
  const RunState& state = run_.state();
  auto spike = spikes_.judge(state.step, result.loss, result.grad_norm);
  if (!spike) return;
  if (config_.spikes.action == Action::rollback) return roll_back(*spike);
  spike->action = result.applied ? "warned" : "skipped";
  run_.state().spikes.add(*spike);
  warnings_.tell("spikes of loss or gradient norm",
                 fmt::format("step {}: {}{}", state.step, spike->str(),
                             result.applied ? "" : "; the step is skipped"));
}

// The data from the checkpoint's to those behind the spike are left out. A start that goes on from
// that checkpoint meets the same spike, and does the same.
void Trainer::roll_back(Spike spike) {
  constexpr int64_t kMost = 3;
  const int64_t behind =
      run_.state().samples + config_.spikes.leave_out * config_.train.global_batch;
  const auto own = run_.own_by_schedule();
  if (!own)
    return warnings_.tell("spikes of loss or gradient norm",
                          fmt::format("step {}: {}; there is no checkpoint yet to go back to",
                                      spike.step, spike.str()));
  const std::vector<Spike> decided = run_.state().spikes.decisions;
  const auto latest = std::find_if(decided.rbegin(), decided.rend(), [&](const Spike& before) {
    return before.back_to != own->step;
  });
  if (latest - decided.rbegin() >= kMost)
    fail(
        "step {}: {}, also after {} ways around the data that have led to one; begin again from "
        "an earlier checkpoint, with a lower lr.lr than {}, or look at the data",
        spike.step, spike.str(), kMost, config_.lr.lr);
  RunState stored = run_state(own->metadata, own->path);
  spike.action = "rolled back";
  spike.back_to = own->step;
  stored.spikes.decisions = decided;  // of the steps that are left behind, too
  stored.spikes.add(spike);
  load_checkpoint(*own, replica_->optimizer().pieces(false), true, run_.world());
  replica_->optimizer().loaded(stored.optimizer_steps);
  restore(loss_scale_, stored);
  spikes_.restore(stored.spikes);
  log::warn("step {}: {}; back to {} and on with sample {}, behind the data since then", spike.step,
            spike.str(), own->path, behind);
  run_.roll_back(stored, behind);
  result_.begun = std::min(result_.begun, stored.step);
  result_.losses.resize(stored.step - result_.begun);
  result_.grad_norms.resize(stored.step - result_.begun);
}

void Trainer::record(const StepResult& result, double lr) {
  const RunState& state = run_.state();
  progress_->step_done(state.step, result);
  auto values = progress_->values(result, lr);
  values.emplace_back("tokens", state.samples * task_.length());
  const auto terms = task_.terms();
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!terms[i].name.empty()) values.emplace_back(terms[i].name, result.terms[i]);
    if (terms[i].perplexity) values.emplace_back("perplexity", std::exp(result.terms[i]));
  }
  if (config_.precision() == DType::f16) values.emplace_back("loss_scale", loss_scale_.value());
  run_.folder().record(state.step, values);
  if (state.step % config_.run.log_every == 0 || run_.done())
    log::info("{}", progress_->line(result, lr));
}

void Trainer::advance() {
  RunState& state = run_.state();
  const int64_t batch = config_.train.global_batch;
  const double lr = rate();
  task_.before_step(evaluated_model(), state.samples, batch);
  const auto most = config_.spikes.action == SpikeConfig::Action::skip ? spikes_.limits()
                                                                       : SpikeDetector::Limits{};
  const StepResult step = replica_->step(prefetcher_->take(state.samples, state.samples + batch),
                                         state.step, lr, loss_scale_.value(), nullptr, most);
  result_.losses.push_back(step.loss);
  result_.grad_norms.push_back(step.grad_norm);
  ++state.step;
  state.samples += batch;
  if (!std::exchange(told_memory_, true)) tell_memory();
  record(step, lr);
  count(step);
  look_for_spike(step);
}

// With what CUDA, its libraries and other processes hold, but not what is kept for later; "" on
// CPUs.
std::string Trainer::taken_on_gpus() {
  const Device device = replica_->model().parameters().device();
  if (device.kind != DeviceKind::cuda) return "";
  const cuda::Memory memory = cuda::memory(device.index);
  const int64_t taken = run_.world().max(memory.total - memory.free - memory.idle);
  return fmt::format("; taken of the fullest GPU: {} of {}", readable_size(taken),
                     readable_size(memory.total));
}

// Each category of the rank that has most of it.
void Trainer::tell_memory() {
  const ReplicaMemory own = replica_->memory();
  const auto most = [this](auto bytes) {
    return readable_size(run_.world().max(static_cast<int64_t>(bytes)));
  };
  const std::string parameters = most(own.parameters), gradients = most(own.gradients),
                    optimizer = most(own.optimizer), packed = most(own.packed),
                    work = most(own.work), activations = most(own.activations),
                    snapshot = most(own.snapshot);
  const int64_t longest = run_.world().max(own.longest);
  const int ranks = run_.world().size();
  log::info(
      "memory{}: parameters {}, gradients {}, optimizer {}, packed weights {}, work space {} "
      "(activations of rows of {} tokens by formula {}){}{}",
      ranks > 1 ? fmt::format(", the most of any of {} ranks", ranks) : "", parameters, gradients,
      optimizer, packed, work, longest, activations,
      run_.folder().writes() ? "; a snapshot takes " + snapshot : "", taken_on_gpus());
}

// Those that compute are best left alone.
int Trainer::idle_threads() const {
  const bool computes = replica_->model().parameters().device() == Device{};
  return computes ? 1 : kernels::threads();
}

TrainResult Trainer::run() {
  run_.tell_start(
      replica_->model().parameters().device(),
      fmt::format("{} sequences of {} tokens a step", config_.train.global_batch, task_.length()));
  progress_ =
      std::make_unique<Progress>(run_.state().step, config_.train.steps, config_.run.peak_flops);
  prefetcher_ =
      std::make_unique<data::Prefetcher>(task_.samples(), replica_->own_samples(), idle_threads());
  result_.begun = run_.state().step;
  result_.stopped = run_.to_end(*this);
  run_.tell_end(result_.stopped, progress_->summary());
  if (!result_.stopped) result_.validation = run_.scores();
  result_.step = run_.state().step;
  result_.committed = run_.saved_step() >= 0;
  return std::move(result_);
}

}  // namespace

TrainResult train(const PretrainConfig& config, Task& task, Group& world,
                  const std::string& resolved,
                  const std::optional<checkpoint::CheckpointInfo>& start,
                  std::unique_ptr<checkpoint::RunClaim> claim) {
  require(!config.run.dry_run,
          "run.dry_run is for one training run, and this command makes several");
  return Trainer(config, task, world, resolved, start, std::move(claim)).run();
}

}  // namespace skein::train
