#include "skein/train/run.h"

#include <utility>

#include "skein/checkpoint/agree.h"
#include "skein/core/clock.h"
#include "skein/core/log.h"
#include "skein/core/profile.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"
#include "skein/train/best_weights.h"
#include "skein/train/watch/number_kind.h"
#include "skein/train/watch/progress_bar.h"

namespace skein::train {
namespace {

constexpr int kFailedSavesInARow = 3;
// The first two steps fill caches and take memory, so the profile begins after them.
constexpr int64_t kStepsBeforeProfile = 2;

}  // namespace

Run::Run(PretrainConfig& config, RunWords words, int64_t last, Group& world,
         std::unique_ptr<checkpoint::RunClaim> claim)
    : config_(config),
      words_(std::move(words)),
      last_(last),
      shape_(mesh_shape(config.parallel, world.size())),
      mesh_(world, shape_),
      folder_(config.run.dir, config.run.tensorboard),
      claim_(claim ? std::move(claim)
                   : RunFolder::claim(config.run, config.parallel.timeout, world)),
      stragglers_(world, shape_.dp * shape_.tp),
      commits_(config.checkpoint) {
  if (claim_) config_.run.id = claim_->run();
  mesh_.watch(device_of(config.parallel.device), config.parallel.timeout,
              folder_.writes() ? folder_.path() + "/standstill" : "");
}

std::optional<checkpoint::CheckpointInfo> Run::own() {
  while (store_ && store_->under_way()) follow_commit(true, false);
  return claim_ ? find_own_checkpoint(config_.run, world()) : std::nullopt;
}

std::optional<checkpoint::CheckpointInfo> Run::own_by_schedule() {
  const int64_t every = config_.checkpoint.every;
  if (every == 0) return own();
  while (store_ && store_->under_way()) follow_commit(true, false);
  return claim_ ? find_own_checkpoint_of(every, config_.run, world()) : std::nullopt;
}

BatchPlan Run::plan(const RunState* stored, const std::string& origin) {
  const BatchPlan plan = settled_plan(config_, shape_, stored, origin);
  state_.reduction_groups = plan.groups;
  return plan;
}

void Run::set_data(std::vector<data::DataFile> files) {
  data_ = std::make_unique<RunData>(std::move(files), world());
  state_.data = data_->files();
}

void Run::count_from(const RunState& stored) {
  state_.step = stored.step;
  state_.samples = stored.samples;
  state_.optimizer_steps = stored.optimizer_steps;
  state_.skipped_in_a_row = stored.skipped_in_a_row;
}

void Run::go_on(const RunState& stored, bool compared) {
  saved_step_ = stored.step;
  state_.validation_owed = stored.validation_owed;
  if (compared) take_best(stored);
}

void Run::take_best(const RunState& stored) {
  const RunState none;
  const RunState& from = best_is_kept(folder_.path(), stored, world()) ? stored : none;
  state_.best_quality = from.best_quality;
  state_.best_step = from.best_step;
  state_.fruitless = from.fruitless;
}

void Run::roll_back(const RunState& stored, int64_t samples) {
  count_from(stored);
  state_.samples = samples;
  state_.spikes = stored.spikes;
  saved_step_ = evaluated_step_ = stored.step;
  store_->remove_after(stored.step);
  folder_.cut(stored.step, world());
  if (!best_) return;
  take_best(stored);
  open_best();
}

// Its commits have names that those before it have not, so that where steps are made once more the
// later weights take the place of the earlier ones.
void Run::open_best() {
  best_ = std::make_unique<checkpoint::CheckpointStore>(folder_.path() + "/best", 1, world(),
                                                        claim_->run());
}

void Run::open(const std::string& resolved, bool compares) {
  compares_ = compares;
  if (claim_) claim_->settle(world());
  folder_.begin(resolved, state_.step, world());
  if (!folder_.writes()) return;
  const bool goes_back = config_.spikes.action == SpikeConfig::Action::rollback;
  store_ = std::make_unique<checkpoint::CheckpointStore>(*claim_, config_.checkpoint.keep, world(),
                                                         goes_back ? config_.checkpoint.every : 0);
  if (compares) open_best();
}

bool Run::out_of_patience() const {
  return config_.validation.patience > 0 && state_.fruitless >= config_.validation.patience;
}

void Run::count_update(bool applied, bool forgiven) {
  if (applied) good_step_ = saved_step_;
  learnt_since_ = learnt_since_ || applied;
  state_.skipped_in_a_row = applied || forgiven ? 0 : state_.skipped_in_a_row + 1;
}

std::string Run::advice() {
  return restart_advice(folder_.checkpoints(), saved_step_, good_step_, world());
}

// must: at the end, and where the run is stopped; the rest of the run waits for it then.
void Run::save(Learner& learner, bool must) {
  if (!store_) return;
  const TimedPhase saving("saving");
  while (store_->under_way()) follow_commit(true, false);
  if (saved_step_ == state_.step) return;
  if (state_.skipped_in_a_row > 0)
    return log::warn("no checkpoint at {} {}: {} is not finite", words_.step, state_.step,
                     words_.gradient);
  // A loss scale shrinks for long where the newest commit's weights are what is wrong; more commits
  // of them would only come in the way of a good one.
  if (!learnt() && !done())
    return log::info("no checkpoint at {} {}: nothing was learnt since that of {} {}", words_.step,
                     state_.step, words_.step, saved_step_);
  if (!data_->finish_within(must ? config_.run.data_wait : std::chrono::milliseconds(0))) return;
  if (config_.run.check_replicas > 0) check_replicas(learner.replicated(), mesh_);
  begin_commit(learner, must);
}

void Run::begin_commit(Learner& learner, bool must) {
  const DeviceKind device = device_of(config_.parallel.device).kind;
  const bool beside = saves_beside(config_.checkpoint, device) && !must;
  learner.sync();
  commit_begun_ = steady_seconds();
  begun_step_ = state_.step;
  learnt_since_ = false;
  if_it_fails(must, [&] {
    checkpoint::agree(world(), [&] { folder_.sync(claim_.get()); });
    if (!store_->begin(state_.step, learner.tensors(), learner.state_text(),
                       saved_step_ < 0 ? std::nullopt : std::optional(good_step_), beside))
      saved_step_ = begun_step_;
  });
  while (!beside && store_->under_way()) follow_commit(true, must);
  const double stood_still = steady_seconds() - commit_begun_;
  if (!must) commits_.begun(stood_still);
  if (beside && store_->under_way() && !std::exchange(told_memory_, true))
    log::info(
        "checkpoints are written beside training, from a snapshot of up to {} a rank, which took "
        "{:.2g} s",
        readable_size(world().max(store_->memory())), stood_still);
}

// A phase of its own: a snapshot, which "saving" may be, takes next to nothing of what is waited
// for here.
bool Run::wait_for_commit() {
  const WatchedPhase here("committing");
  return store_->advance(true);
}

// Collective.
void Run::follow_commit(bool wait, bool must) {
  if_it_fails(must, [&] {
    if (!(wait ? wait_for_commit() : store_->advance(false))) return;
    FlightRecorder::of_this_thread()->took("committing", steady_seconds() - commit_begun_);
    saved_step_ = begun_step_;
    failed_saves_ = 0;
    if (learnt_since_) good_step_ = saved_step_;
  });
}

// A commit that fails leaves the earlier ones as they are; the run goes on and tries again at the
// next interval. Not so once another process writes the run.
void Run::if_it_fails(bool must, const std::function<void()>& commit) {
  try {
    commit();
  } catch (const LostRank&) {
    throw;
  } catch (const Error& error) {
    const bool over = must || error.code() == ExitCode::superseded;
    if (over || ++failed_saves_ >= kFailedSavesInARow) throw;
    log::warn("no checkpoint at {} {}: {}; the run goes on, {}", words_.step, begun_step_,
              error.what(), commits_.next_attempt(words_.step));
  }
}

void Run::evaluate(Learner& learner) {
  if (evaluated_step_ == state_.step) return;
  const TimedPhase evaluation("evaluation");
  state_.validation_owed = true;
  if (best_) data_->finish(meeting_.get());
  scores_ = learner.score(*meeting_);
  state_.validation_owed = false;
  log::info("{} {}  validation: {}", words_.step, state_.step, scores_.text);
  folder_.record(state_.step, as_validation(scores_.values));
  if (compares_)
    keep_if_best(
        state_, scores_.quality, best_.get(), [&] { return learner.best_weights(); },
        [&] { return learner.state_text(); });
  evaluated_step_ = state_.step;
}

void Run::profile(bool over) {
  const int64_t steps = config_.run.profile, done = state_.step - began_ - kStepsBeforeProfile;
  if (profile_origin_ && (over || done == steps)) {
    folder_.write_profile(Profile::stop(), profile_origin_,
                          fmt::format("{} {}s", done, words_.step), world());
    profile_origin_ = 0;
  } else if (steps > 0 && done == 0 && !over) {
    world().barrier();
    profile_origin_ = Profile::start();
  }
}

void Run::advance(Learner& learner) {
  const TimedPhase training("training");
  const int64_t every = config_.run.check_replicas;
  if (every > 0 && state_.step % every == 0) check_replicas(learner.replicated(), mesh_);
  const FlightRecorder& recorder = *FlightRecorder::of_this_thread();
  const double begun = steady_seconds(), waited = recorder.waited();
  learner.advance();
  mesh_.check_in_step();
  stragglers_.count(steady_seconds() - begun - (recorder.waited() - waited));
}

namespace {

// Exchanges there have a limit of their own, too.
auto between_steps(const auto& work) {
  const TimedPhase here("between steps");
  return work();
}

}  // namespace

bool Run::learn(Learner& learner) {
  const bool commits = !done() || saved_step_ != state_.step;
  if (commits && !config_.run.data_compared) data_->begin();
  // What came while this was loaded, where another looked (a sweep). A file is looked for after
  // each step.
  if (!done() && world().any(stop_signal() != 0)) {
    stop_->taken();
    return true;
  }
  loaded_ = true;
  // What the checkpoint that this start goes on from would have said of its step.
  if (state_.validation_owed && learner.validates()) evaluate(learner);
  state_.validation_owed = false;
  bool stopped = false;
  const ProgressBar bar(words_.step, state_.step, last_);
  while (!done() && !stopped) {
    bar.show(state_.step);
    profile(false);
    advance(learner);
    between_steps([&] {
      data_->look();
      if (store_ && store_->under_way()) follow_commit(false, false);
    });
    if (learner.validates() && learner.evaluation_due()) evaluate(learner);
    if (!done() && between_steps([&] { return commits_.due(state_.step, world()); }))
      save(learner, false);
    stopped = !done() && (state_.step == config_.run.stop_at ||
                          between_steps([&] { return stop_->agreed(world()); }));
  }
  profile(true);
  if (stopped) return true;
  if (learner.validates() && learner.evaluates_end()) evaluate(learner);
  if (store_) data_->finish(meeting_.get());
  return false;
}

void Run::commit_end(Learner& learner, bool stopped) {
  if (loaded_) save(learner, true);
  if (store_ && !stopped && saved_step_ != state_.step)
    fail("{} {}{}, and what it leaves is not committed: {} with a lower lr.lr than {}{}",
         words_.step, state_.step, words_.ruined, advice(), config_.lr.lr, words_.advice);
  // Lines that a full disk refused after the last commit.
  if (store_) checkpoint::agree(world(), [&] { folder_.sync(claim_.get()); });
}

void Run::tell_start(Device device, const std::string& what) const {
  const int64_t groups = state_.reduction_groups;
  log::info(
      "{} parameters, {} by {} | pipeline {} x data {} x tensor {} | {}, gradients of {} groups "
      "added {}",
      readable_count(config_.model.parameters()), name_of(config_.precision()),
      unit_of(device, config_.precision()), shape_.pp, shape_.dp, shape_.tp, what, groups,
      !config_.parallel.equal_bits && device.kind == DeviceKind::cuda && shape_.dp > 1
          ? "in NCCL's order"
      : adds_as_one_rank(config_.parallel.group_order, groups, shape_.dp)
          ? "as by one rank"
          : fmt::format("as by {} data-parallel ranks", shape_.dp));
  const ModelConfig& model = config_.model;
  for (const std::string& line : useless_structures(
           model.attention, !model.architecture->sees_ahead(), model.context, model.n_layers))
    log::warn("{}", line);
  if (!folder_.writes())
    log::warn("run.dir is empty: this run leaves no checkpoint and no metrics");
}

void Run::tell_end(bool stopped, const std::string& summary) const {
  if (const std::string cost = commits_.told_cost(); !cost.empty()) log::info("{}", cost);
  log::info("{}: {}{}", stopped ? "stopped as asked" : "done", summary,
            folder_.writes() ? "; all of it is in " + folder_.path() : "");
}

bool Run::to_end(Learner& learner) {
  began_ = state_.step;
  stop_ = std::make_unique<StopRequest>(folder_.path());
  meeting_ = std::make_unique<Meeting>(world(), [this] { return stop_->asked(world()); });
  if (done())
    log::info("{} {} of {} is done already; raise {} to go on", words_.step, state_.step, last_,
              out_of_patience() ? "validation.patience" : words_.steps);
  learner.meet(meeting_.get());
  bool stopped = false;
  try {
    stopped = learn(learner);
  } catch (const Interruption&) {
    stopped = true;
    stop_->taken();
    profile(true);
  }
  learner.meet(nullptr);
  learner.finish();
  commit_end(learner, stopped);
  if (best_ && state_.best_step >= 0)
    log::info("best at {} {}: {}/best", words_.step, state_.best_step, folder_.path());
  stop_->clear();
  return stopped;
}

}  // namespace skein::train
