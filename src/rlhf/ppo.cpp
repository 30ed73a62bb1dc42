#include "skein/rlhf/ppo.h"

#include <chrono>
#include <optional>

#include "held_out.h"
#include "rollout_file.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/train/best_weights.h"
#include "skein/train/progress.h"
#include "skein/train/run_data.h"
#include "skein/train/run_folder.h"
#include "skein/train/run_state.h"
#include "skein/train/stop.h"
#include "tune_metrics.h"
#include "tune_resume.h"
#include "tune_state.h"

namespace skein {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kStopFactor = 1.5;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Tuner {
 public:
  Tuner(const TuneConfig& config, const Tuning& tuning, Group& world, const std::string& resolved);
  ~Tuner() { meet_at(nullptr); }
  TuneResult run();
  void hand_over(const Afterwards& afterwards) const {
    afterwards([&](const std::vector<Episode>& answers) { return actors_->logps(answers, false); },
               [&](const std::vector<Episode>& answers) { return actors_->logps(answers, true); });
  }

 private:
  void begin(const CriticStart& critic);
  // tuned_ is what own says of itself.
  void resume(const CheckpointInfo& own);
  std::string state_text();
  void save(bool must);
  void save_mean() const;
  void evaluate();
  bool evaluation_due() const {
    const int64_t every = config_.run.validation.every;
    return held_out_ &&
           ((every > 0 && state_.step % every == 0) || state_.step == config_.ppo.iterations);
  }
  bool out_of_patience() const {
    return config_.run.validation.patience > 0 &&
           state_.fruitless >= config_.run.validation.patience;
  }
  bool done() const { return tuned_.iterations >= config_.ppo.iterations || out_of_patience(); }
  // The iterations and evaluations that are left; Interrupted where nothing is changed.
  void iterate_to_end(TuneResult& result);
  void iterate(TuneResult& result);
  void commit_end(const TuneResult& result);
  // Where what waits for long may be interrupted; null: nowhere.
  void meet_at(Meeting* meeting) {
    tuning_.rewards.set_meeting(meeting);
    actors_->set_meeting(meeting);
  }
  std::string advice() { return restart_advice(folder_.checkpoints(), saved_, good_, mesh_.world()); }
  StepMeans learn(const EpisodeSamples& samples);
  // False once the rest of the iteration's epochs is left out.
  bool learn_minibatch(EpisodeSamples& samples, int64_t epoch, int64_t minibatch, StepMeans& means);
  double rate(double lr) const;
  NamedValues values(const Rollout& rollout, const StepMeans& means, const KlFinding& kl,
                     const PhaseSeconds& times) const;
  void tell(const Rollout& rollout, const NamedValues& values) const;
  int64_t minibatches() const { return config_.ppo.rollout_batch / config_.run.train.global_batch; }

  TuneConfig config_;
  Tuning tuning_;
  MeshShape shape_;
  Mesh mesh_;
  RunFolder folder_;
  std::unique_ptr<RunClaim> claim_;
  BatchPlan plan_;
  std::unique_ptr<Actors> actors_;
  std::unique_ptr<RunData> data_;
  std::unique_ptr<Generator> generator_;
  std::unique_ptr<CheckpointStore> store_, best_;
  std::unique_ptr<RolloutFile> rollouts_;
  std::unique_ptr<HeldOutAnswers> held_out_;
  RunState state_;
  TuneState tuned_;
  KlController kl_;
  RepeatedWarnings warnings_;
  Clock::time_point begun_ = Clock::now();
  int64_t first_iteration_ = 0, saved_ = -1;
  int64_t good_ = -1;  // as restart_advice has it
  std::unique_ptr<StopRequest> stop_;  // of run(), as what follows
  std::unique_ptr<Meeting> meeting_;
};

Tuner::Tuner(const TuneConfig& config, const Tuning& tuning, Group& world, const std::string& resolved)
    : config_(checked(config, tuning, world.size())), tuning_(tuning),
      shape_(mesh_shape(config.run.parallel, world.size())), mesh_(world, shape_),
      folder_(config.run.run.dir, config.run.run.tensorboard),
      claim_(RunFolder::claim(config.run.run, world)), kl_(config.kl) {
  const auto own = claim_ ? find_own_checkpoint(config.run.run, mesh_.world()) : std::nullopt;
  if (own) take_over_groups(run_state(own->metadata, own->path).reduction_groups, own->path, shape_.dp, config_.run);
  TrainConfig& train = config_.run.train;
  if (train.micro_batch_open)
    train.micro_batch = fitting_micro_batch(config_.run.parallel, shape_, train.global_batch,
                                            train.micro_batch);
  plan_ = plan_batch(config_.run.parallel, shape_, train.global_batch, train.micro_batch);
  config_.run.parallel.reduction_groups = plan_.groups;
  const CriticStart critic = own ? CriticStart{} : critic_start(config_, tuning_, world);
  tuned_.critic_mean = critic.mean;
  tuned_.critic_deviation = critic.deviation;
  if (own) tuned_ = tune_state(run_state(own->metadata, own->path).notes, own->path);
  config_.critic.rules.mean = tuned_.critic_mean;
  config_.critic.rules.deviation = tuned_.critic_deviation;
  actors_ = std::make_unique<Actors>(config_, plan_, mesh_, tuning_);
  GenerateConfig generate = config_.generate;
  generate.sampling.banned = tuning.banned;
  generator_ = std::make_unique<Generator>(config_.run.model, actors_->policy().model(), mesh_, generate, tuning.end, tuning.tokenizer.vocab_size());
  if (tuning.held_out)
    held_out_ = std::make_unique<HeldOutAnswers>(config_, tuning_, *actors_, mesh_);
  data_ = std::make_unique<RunData>(actors_->data_files(), mesh_.world());
  state_.data = data_->files();
  state_.reduction_groups = plan_.groups;
  state_.tokenizer = tuning.tokenizer.to_json();
  PretrainConfig stored = config_.run;
  stored.model.value_head = config_.critic.kind == CriticConfig::Kind::shared && config_.ppo.algorithm == PpoConfig::Algorithm::ppo;
  state_.config = config_values(stored);
  if (claim_) state_.config["run.id"] = claim_->run();
  if (own) resume(*own);
  else begin(critic);
  first_iteration_ = tuned_.iterations;
  if (claim_) claim_->settle(world);
  folder_.begin(resolved, tuned_.iterations, world);
  if (config_.ppo.save_rollouts)
    rollouts_ =
        std::make_unique<RolloutFile>(folder_.path() + "/rollouts.jsonl", tuned_.iterations, world);
  if (folder_.writes()) store_ = std::make_unique<CheckpointStore>(*claim_, static_cast<int>(config_.run.checkpoint.keep), world);
  else log::warn("run.dir is empty: this run leaves no checkpoint and no metrics");
  if (folder_.writes() && held_out_)
    best_ = std::make_unique<CheckpointStore>(folder_.path() + "/best", 1, world, claim_->run());
}

void Tuner::begin(const CriticStart& critic) {
  tuned_.chat = tuning_.chat;
  tuned_.start = tuning_.start.path;
  tuned_.start_sum = tuning_.start.sum;
  tuned_.ema = config_.ppo.ema;
  tuned_.settings = tune_settings(config_, tuning_.settings);
  actors_->begin(critic);
}

void Tuner::resume(const CheckpointInfo& own) {
  const RunState stored = run_state(own.metadata, own.path);
  check_same_start(tuned_, config_, tuning_, own.path);
  tuned_.ema = config_.ppo.ema;
  PretrainConfig now = config_.run;
  now.model.value_head = state_.config.at("model.value_head") == "true";
  const std::string changes = compare_with_stored(stored, now, state_.tokenizer, own.path) +
                              compare_settings(tuned_, config_, tuning_, own.path);
  data_->go_on({stored.data, own.path, true, config_.run.checkpoint.other_data});
  if (held_out_ && judged_as_before(tuned_, config_, tuning_) && best_is_kept(folder_.path(), stored, mesh_.world()))
    take_best(stored, state_);
  tuned_.settings = tune_settings(config_, tuning_.settings);
  load_checkpoint(own, actors_->pieces(false), true, mesh_.world());
  actors_->loaded(stored.optimizer_steps, tuned_.critic_steps);
  state_.step = stored.step;
  state_.samples = stored.samples;
  state_.optimizer_steps = stored.optimizer_steps;
  state_.skipped_in_a_row = stored.skipped_in_a_row;
  state_.validation_owed = stored.validation_owed;
  if (config_.kl.control == KlConfig::Control::adaptive) kl_ = KlController(config_.kl, tuned_.kl);
  saved_ = stored.step;
  log::info("goes on from {} (iteration {})", own.path, tuned_.iterations);
  if (!changes.empty()) log::info("options that changed since then:{}", changes);
}

std::string Tuner::state_text() {
  state_.optimizer_steps = actors_->policy().optimizer().steps();
  tuned_.critic_steps = actors_->critic() ? actors_->critic()->optimizer().steps() : 0;
  tuned_.kl = kl_.state();
  state_.notes = with_instructions(to_json(tuned_), tuning_.instructions);
  return to_json(state_, shape_);
}

void Tuner::save(bool must) {
  if (!store_ || saved_ == state_.step) return;
  if (state_.skipped_in_a_row > 0)
    return log::warn("no checkpoint at iteration {}: its last gradient norm is not finite",
                     state_.step);
  if (!data_->finish_within(must ? config_.run.run.data_wait : std::chrono::milliseconds(0))) return;
  folder_.sync(claim_.get());
  if (rollouts_) rollouts_->sync(claim_.get());
  store_->save(state_.step, actors_->pieces(true), state_text(),
               saved_ < 0 ? std::nullopt : std::optional(good_));
  saved_ = state_.step;
}

void Tuner::evaluate() {
  state_.validation_owed = true;
  if (best_) data_->finish(meeting_.get());
  const Scores scores = held_out_->evaluate(*meeting_);
  state_.validation_owed = false;
  log::info("iteration {}  validation: {}", state_.step, scores.text);
  folder_.record(state_.step, scores.values);
  keep_if_best(
      state_, scores.quality, best_.get(),
      [this] { return actors_->policy().optimizer().pieces(true); },
      [this] { return state_text(); });
}

// A model without its moments, as one that is imported.
void Tuner::save_mean() const {
  if (!store_ || config_.ppo.ema == 0) return;
  CheckpointStore store(folder_.path() + "/ema", 1, mesh_.world(), claim_->run());
  RunState state = state_;
  state.optimizer_steps = 0;
  state.notes = with_instructions(to_json(tuned_), tuning_.instructions);
  store.save(state.step, actors_->mean_pieces(), to_json(state, shape_));
}

double Tuner::rate(double lr) const {
  LrConfig schedule = config_.run.lr;
  if (lr > 0) {
    schedule.min_lr *= lr / schedule.lr;
    schedule.lr = lr;
  }
  return learning_rate(schedule, {tuned_.updates, tuned_.updates, config_.run.train.steps, 1});
}

bool Tuner::learn_minibatch(EpisodeSamples& samples, int64_t epoch, int64_t minibatch, StepMeans& means) {
  const bool policy_learns = tuned_.iterations >= config_.critic.warmup;
  const Actors::Step step = actors_->learn(samples, minibatch * config_.run.train.global_batch, tuned_.updates, rate(0), rate(config_.critic.lr), policy_learns);
  ++tuned_.updates;
  StepMeans own;
  own.add(actors_->policy_terms(), step.policy);
  if (policy_learns && epoch == 0 && minibatch == 0) guard_ratio(own.mean("ratio_off"), tuned_.iterations + 1);
  means.add(actors_->policy_terms(), step.policy);
  if (policy_learns && !config_.ptx.data.empty()) means.add("ptx_loss", step.policy.beside);
  means.add(ValueObjective::terms(), step.critic, "critic_");
  const bool applied = (!policy_learns || step.policy.applied) && (!actors_->critic() || step.critic.applied);
  state_.skipped_in_a_row = applied ? 0 : state_.skipped_in_a_row + 1;
  if (applied) good_ = saved_;
  if (!applied)
    warnings_.tell("gradient norms that are not finite",
                   fmt::format("iteration {}: the gradient norm is not finite; the step is skipped",
                               tuned_.iterations + 1));
  if (state_.skipped_in_a_row >= config_.run.train.max_skipped)
    fail("iteration {}: the gradient norm was not finite {} steps in a row; {} with a lower lr.lr than {}",
         tuned_.iterations + 1, state_.skipped_in_a_row, advice(), config_.run.lr.lr);
  return config_.ppo.stop_kl == 0 || own.mean("approx_kl") <= kStopFactor * config_.ppo.stop_kl;
}

StepMeans Tuner::learn(const EpisodeSamples& all) {
  StepMeans means;
  EpisodeSamples samples = all;
  const int64_t planned = tuned_.updates + config_.ppo.epochs * minibatches();
  bool on = true;
  for (int64_t epoch = 0; epoch < config_.ppo.epochs && on; ++epoch) {
    samples.set_order(learnt_order(config_, tuned_.iterations, epoch));
    for (int64_t minibatch = 0; minibatch < minibatches() && on; ++minibatch) on = learn_minibatch(samples, epoch, minibatch, means);
  }
  if (!on)
    warnings_.tell("epochs that ppo.stop_kl ended",
                   fmt::format("iteration {}: approx_kl is beyond {} times ppo.stop_kl={}; the rest "
                               "of its epochs is left out",
                               tuned_.iterations + 1, kStopFactor, config_.ppo.stop_kl));
  tuned_.updates = planned;
  return means;
}

void Tuner::iterate(TuneResult& result) {
  PhaseSeconds times;
  Clock::time_point start = Clock::now();
  Rollout rollout = sample_answers(config_, tuning_, *generator_, tuned_.iterations, meeting_.get());
  times.generation = seconds_since(start);
  start = Clock::now();
  score_answers(tuning_, rollout);
  const EpisodeSamples samples = learnt_samples(config_, rollout);
  actors_->judge(rollout.episodes, samples);
  weigh_answers(config_, kl_.beta(), rollout);
  const KlFinding kl = kl_finding(rollout.episodes);
  tuned_.negative_kl =
      guard_kl(kl, tuned_.negative_kl, config_.generate.sampling.temperature, warnings_);
  guard_scores(rollout.episodes, rollout.flat_groups, rollout.groups, config_.generate.max_tokens,
               warnings_);
  times.scoring = seconds_since(start);
  start = Clock::now();
  const StepMeans means = learn(samples);
  times.training = seconds_since(start);
  const NamedValues made = values(rollout, means, kl, times);
  if (tuned_.iterations >= config_.critic.warmup) kl_.update(kl.mean, config_.ppo.rollout_batch);
  state_.step = ++tuned_.iterations;
  state_.samples += config_.ppo.rollout_batch;
  folder_.record(state_.step, made);
  if (rollouts_) rollouts_->write(state_.step, tuning_, rollout);
  result.iterations.push_back(made);
  if (state_.step % config_.run.run.log_every == 0 || state_.step == config_.ppo.iterations) tell(rollout, made);
}

NamedValues Tuner::values(const Rollout& rollout, const StepMeans& means, const KlFinding& kl,
                          const PhaseSeconds& times) const {
  NamedValues made{{"episodes", static_cast<double>(state_.samples + config_.ppo.rollout_batch)}};
  const auto add = [&](const NamedValues& more) {
    made.insert(made.end(), more.begin(), more.end());
  };
  add(answer_values(rollout, kl, kl_.beta()));
  add(source_values(rollout));
  if (rollout.groups > 0) made.emplace_back("flat_groups", static_cast<double>(rollout.flat_groups) / static_cast<double>(rollout.groups));
  if (config_.ppo.algorithm == PpoConfig::Algorithm::ppo)
    made.emplace_back("explained_variance", explained_variance(rollout.episodes));
  add(means.values());
  made.emplace_back("lr", rate(0));
  add(time_values(
      times, value_named(made, "answer_tokens") * static_cast<double>(rollout.episodes.size())));
  return made;
}

void Tuner::tell(const Rollout& rollout, const NamedValues& values) const {
  const int64_t left = config_.ppo.iterations - state_.step, here = state_.step - first_iteration_;
  log::info("iteration {}/{}  {}  ETA {}", state_.step, config_.ppo.iterations,
            progress_text(values),
            readable_seconds(seconds_since(begun_) / static_cast<double>(here) *
                             static_cast<double>(left)));
  for (int64_t i = 0;
       i < std::min<int64_t>(config_.ppo.shown, static_cast<int64_t>(rollout.episodes.size())); ++i)
    log::info("  {}", answer_text(rollout.episodes[static_cast<size_t>(i)], tuning_));
}

void Tuner::iterate_to_end(TuneResult& result) {
  if (!done() || saved_ != state_.step) data_->begin();
  if (state_.validation_owed && held_out_) evaluate();
  state_.validation_owed = false;
  while (!done() && !result.stopped) {
    iterate(result);
    data_->look();
    if (evaluation_due()) evaluate();
    const int64_t every = config_.run.checkpoint.every;
    if (every > 0 && state_.step % every == 0) save(false);
    result.stopped = !done() && stop_->agreed(mesh_.world());
  }
  if (store_ && !result.stopped) data_->finish(meeting_.get());
}

void Tuner::commit_end(const TuneResult& result) {
  save(true);
  if (store_ && !result.stopped && saved_ != state_.step)
    fail(
        "iteration {}, the last one, ends without a finite gradient norm, and what it leaves is not "
        "committed: {} with a lower lr.lr than {}",
        state_.step, advice(), config_.run.lr.lr);
  if (saved_ == state_.step) save_mean();
  if (best_ && state_.best_step >= 0)
    log::info("best at iteration {}: {}/best", state_.best_step, folder_.path());
  if (result.stopped) stop_->clear();
}

TuneResult Tuner::run() {
  TuneResult result;
  log::info("{} parameters, {} by {} | pipeline {} x data {} x tensor {} | {} answers an iteration, {} a minibatch, {} epochs",
            readable_count(static_cast<double>(config_.run.model.parameters())), name_of(config_.run.precision()),
            unit_of(actors_->policy().model().parameters().device(), config_.run.precision()), shape_.pp, shape_.dp, shape_.tp,
            config_.ppo.rollout_batch, config_.run.train.global_batch, config_.ppo.epochs);
  if (done())
    log::info("iteration {} of {} is done already; raise {} to go on", tuned_.iterations,
              config_.ppo.iterations, out_of_patience() ? "validation.patience" : "ppo.iterations");
  stop_ = std::make_unique<StopRequest>(folder_.path());
  meeting_ = std::make_unique<Meeting>(mesh_.world(), [this] { return stop_->asked(mesh_.world()); });
  meet_at(meeting_.get());
  try {
    iterate_to_end(result);
  } catch (const Interrupted&) {
    result.stopped = true;
    stop_->taken();
  }
  meet_at(nullptr);
  warnings_.finish();
  commit_end(result);
  result.done = tuned_.iterations;
  result.committed = saved_ >= 0;
  log::info("{}: {} iterations in {}{}", result.stopped ? "stopped as asked" : "done", tuned_.iterations - first_iteration_, readable_seconds(seconds_since(begun_)),
            folder_.writes() ? "; all of it is in " + folder_.path() : "");
  return result;
}

}  // namespace

TuneResult tune(const TuneConfig& config, const Tuning& tuning, Group& world, const std::string& resolved, const Afterwards& afterwards) {
  Tuner tuner(config, tuning, world, resolved);
  TuneResult result = tuner.run();
  if (afterwards && !result.stopped) tuner.hand_over(afterwards);
  return result;
}

}  // namespace skein
