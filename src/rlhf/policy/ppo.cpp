#include "skein/rlhf/policy/ppo.h"

#include <optional>

#include "skein/core/clock.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/core/profile.h"
#include "skein/core/strings.h"
#include "skein/core/values.h"
#include "skein/train/progress.h"
#include "skein/train/run.h"

#include "held_out.h"
#include "rollout_file.h"
#include "tune_metrics.h"
#include "tune_resume.h"
#include "tune_state.h"

namespace skein::rlhf::policy {
namespace {

constexpr double kStopFactor = 1.5;

// A part of an iteration, timed and profiled.
class Phase {
 public:
  Phase(const char* name, double& seconds) : span_(name), watched_(name), seconds_(seconds) {}
  ~Phase() { seconds_ = steady_seconds() - start_; }

 private:
  Span span_;
  TimedPhase watched_;
  double& seconds_;
  double start_ = steady_seconds();
};

class Tuner : private train::Learner {
 public:
  Tuner(const TuneConfig& config, const Tuning& tuning, Group& world, const std::string& resolved);
  ~Tuner() override { meet(nullptr); }
  TuneResult run();
  const Actors& actors() const { return *actors_; }

 private:
  // Builds what tunes, from `own`, a checkpoint of this run, or from the start.
  void build(const checkpoint::CheckpointInfo* own);
  void begin(const CriticStart& critic);
  // tuned_ is what own says of itself.
  void resume(const checkpoint::CheckpointInfo& own, const train::RunState& stored);
  void advance() override;
  bool validates() const override { return held_out_ != nullptr; }
  bool evaluation_due() const override {
    const int64_t every = config_.run.validation.every, step = run_.state().step;
    return (every > 0 && step % every == 0) || step == config_.ppo.iterations;
  }
  bool evaluates_end() const override { return false; }
  train::Scores score(Meeting& meeting) override { return held_out_->evaluate(meeting); }
  std::vector<checkpoint::Piece> tensors() override { return actors_->pieces(true); }
  std::vector<checkpoint::Piece> best_weights() override {
    return actors_->policy().optimizer().weights(true);
  }
  std::vector<train::Replicated> replicated() override { return actors_->replicated(); }
  std::string state_text() override;
  void sync() override {
    if (rollouts_) rollouts_->sync(run_.claim());
  }
  void meet(Meeting* meeting) override {
    tuning_.rewards.set_meeting(meeting);
    actors_->set_meeting(meeting);
  }
  void finish() override { warnings_.finish(); }
  void save_mean();
  // The parts of an iteration.
  Rollout sample(IterationCost& cost);
  KlFinding judge(Rollout& rollout, IterationCost& cost);
  StepMeans learn(const Rollout& rollout, IterationCost& cost);
  // False once the rest of the iteration's epochs is left out.
  bool learn_minibatch(EpisodeSamples& samples, int64_t epoch, int64_t minibatch, StepMeans& means,
                       IterationCost& cost);
  void count_update(bool applied);
  double rate(double lr) const;
  NamedValues values(const Rollout& rollout, const StepMeans& means, const KlFinding& kl,
                     const IterationCost& cost) const;
  void tell(const Rollout& rollout, const NamedValues& values) const;
  int64_t minibatches() const { return config_.ppo.rollout_batch / config_.run.train.global_batch; }

  TuneConfig config_;
  Tuning tuning_;
  train::Run run_;
  std::unique_ptr<Actors> actors_;
  std::unique_ptr<generate::Generator> generator_;
  std::unique_ptr<RolloutFile> rollouts_;
  std::unique_ptr<HeldOutAnswers> held_out_;
  TuneState tuned_;
  train::LossScale loss_scale_;
  RepeatedWarnings warnings_;
  TuneResult result_;
  double begun_ = steady_seconds();
  int64_t first_iteration_ = 0;
};

Tuner::Tuner(const TuneConfig& config, const Tuning& tuning, Group& world,
             const std::string& resolved)
    : config_(checked(config, tuning, world.size())),
      tuning_(tuning),
      run_(config_.run,
           {"iteration", "ppo.iterations", "its last gradient norm",
            ", the last one, ends without a finite gradient norm", ""},
           config.ppo.iterations, world, nullptr),
      loss_scale_(config.run.train.loss_scale, config.run.precision()) {
  const auto own = run_.own();
  build(own ? &*own : nullptr);
  first_iteration_ = tuned_.iterations;
  run_.open(resolved, held_out_ != nullptr);
  if (config_.ppo.save_rollouts)
    rollouts_ = std::make_unique<RolloutFile>(run_.folder().path() + "/rollouts.jsonl",
                                              tuned_.iterations, world);
}

void Tuner::build(const checkpoint::CheckpointInfo* own) {
  std::optional<train::RunState> stored;
  if (own) stored = train::run_state(own->metadata, own->path);
  const BatchPlan plan = run_.plan(own ? &*stored : nullptr, own ? own->path : "");
  const CriticStart critic = own ? CriticStart{} : critic_start(config_, tuning_, run_.world());
  tuned_.critic_mean = critic.mean;
  tuned_.critic_deviation = critic.deviation;
  if (own) tuned_ = tune_state(stored->notes, own->path);
  config_.critic.rules.mean = tuned_.critic_mean;
  config_.critic.rules.deviation = tuned_.critic_deviation;
  config_.generate.sampling.banned = tuning_.banned;
  actors_ = std::make_unique<Actors>(config_, plan, run_.mesh(), tuning_);
  generator_ = std::make_unique<generate::Generator>(config_.run.model, actors_->policy().model(),
                                                     run_.mesh(), config_.generate, tuning_.end,
                                                     tuning_.tokenizer.vocab_size());
  if (tuning_.held_out)
    held_out_ = std::make_unique<HeldOutAnswers>(config_, tuning_, *actors_, run_.mesh());
  run_.set_data(actors_->data_files());
  train::RunState& state = run_.state();
  state.tokenizer = text::StoredTokenizer(tuning_.tokenizer.to_json());
  state.config = config_values(written_run(config_));
  if (own)
    resume(*own, *stored);
  else
    begin(critic);
}

void Tuner::begin(const CriticStart& critic) {
  tuned_.chat = tuning_.chat;
  tuned_.start = tuning_.start.path;
  tuned_.start_sum = tuning_.start.sum;
  tuned_.ema = config_.ppo.ema;
  tuned_.kl_beta = config_.kl.beta;
  tuned_.settings = tune_settings(config_, tuning_.settings);
  actors_->begin(critic);
}

void Tuner::resume(const checkpoint::CheckpointInfo& own, const train::RunState& stored) {
  const TimedPhase loading("loading");
  const std::string changes = compare_with_own(own, stored, tuned_, config_, tuning_);
  tuned_.ema = config_.ppo.ema;
  run_.data().go_on({stored.data, own.path, true, config_.run.checkpoint.other_data});
  run_.go_on(stored, held_out_ && judged_as_before(tuned_, config_, tuning_));
  tuned_.settings = tune_settings(config_, tuning_.settings);
  load_checkpoint(own, actors_->pieces(false), true, run_.world());
  actors_->loaded(stored.optimizer_steps, tuned_.critic_steps);
  run_.count_from(stored);
  restore(loss_scale_, stored);
  tuned_.kl_beta = resumed_beta(config_.kl, tuned_.kl_beta);
  log::info("goes on from {} (iteration {})", own.path, tuned_.iterations);
  train::tell_changes(changes);
}

std::string Tuner::state_text() {
  train::RunState& state = run_.state();
  state.optimizer_steps = actors_->policy().optimizer().steps();
  state.loss_scale = loss_scale_.value();
  state.good_steps = loss_scale_.good_steps();
  tuned_.critic_steps = actors_->critic() ? actors_->critic()->optimizer().steps() : 0;
  state.notes = with_instructions(to_notes(tuned_), tuning_.instructions);
  return to_json(state, run_.shape());
}

// A model without its moments, as one that is imported.
void Tuner::save_mean() {
  if (!run_.folder().writes() || config_.ppo.ema == 0) return;
  checkpoint::CheckpointStore store(run_.folder().path() + "/ema", 1, run_.world(),
                                    run_.claim()->run());
  train::RunState state = run_.state();
  state.optimizer_steps = 0;
  state.notes = with_instructions(to_notes(tuned_), tuning_.instructions);
  store.save(state.step, actors_->mean_pieces(), to_json(state, run_.shape()));
}

double Tuner::rate(double lr) const {
  train::LrConfig schedule = config_.run.lr;
  if (lr > 0) {
    schedule.min_lr *= lr / schedule.lr;
    schedule.lr = lr;
  }
  return learning_rate(schedule, {tuned_.updates, tuned_.updates, config_.run.train.steps, 1});
}

void Tuner::count_update(bool applied) {
  const double scale = loss_scale_.value();
  // An overflow that a smaller scale may mend is no fault of the run.
  const bool scaled = loss_scale_.after_step(!applied);
  run_.count_update(applied, scaled);
  if (applied) return;
  if (scaled)
    return log::info(
        "iteration {}: gradients overflow at a loss scale of {}; the step is skipped, the scale "
        "now {}",
        tuned_.iterations + 1, scale, loss_scale_.value());
  warnings_.tell("gradient norms that are not finite",
                 fmt::format("iteration {}: the gradient norm is not finite; the step is skipped",
                             tuned_.iterations + 1));
  const int64_t skipped = run_.state().skipped_in_a_row;
  if (skipped >= config_.run.train.max_skipped)
    fail(
        "iteration {}: the gradient norm was not finite {} steps in a row; {} with a lower lr.lr "
        "than {}",
        tuned_.iterations + 1, skipped, run_.advice(), config_.run.lr.lr);
}

bool Tuner::learn_minibatch(EpisodeSamples& samples, int64_t epoch, int64_t minibatch,
                            StepMeans& means, IterationCost& cost) {
  const bool policy_learns = tuned_.iterations >= config_.critic.warmup;
  const Actors::Step step = actors_->learn(
      samples, minibatch * config_.run.train.global_batch,
      {tuned_.updates, rate(0), rate(config_.critic.lr), loss_scale_.value(), policy_learns});
  const double used = rate(0);
  ++tuned_.updates;
  cost.flops += step.policy.flops + step.critic.flops;
  const NamedValues own = step_values(actors_->policy_terms(), step.policy);
  if (policy_learns && epoch == 0 && minibatch == 0)
    guard_ratio(value_named(own, "ratio_off"), tuned_.iterations + 1);
  means.add(own);
  if (policy_learns && !config_.ptx.data.empty()) means.add({{"ptx_loss", step.policy.auxiliary}});
  means.add(step_values(ValueObjective::terms(), step.critic, "critic_"));
  means.add({{"lr", used}});
  const bool applied =
      (!policy_learns || step.policy.applied) && (!actors_->critic() || step.critic.applied);
  count_update(applied);
  return config_.ppo.stop_kl == 0 ||
         value_named(own, "approx_kl") <= kStopFactor * config_.ppo.stop_kl;
}

StepMeans Tuner::learn(const Rollout& rollout, IterationCost& cost) {
  const Phase phase("learn", cost.training);
  StepMeans means;
  EpisodeSamples samples = learnt_samples(config_, rollout.episodes);
  const int64_t planned = tuned_.updates + config_.ppo.epochs * minibatches();
  bool on = true;
  for (int64_t epoch = 0; epoch < config_.ppo.epochs && on; ++epoch) {
    samples.set_order(learnt_order(config_, tuned_.iterations, epoch));
    for (int64_t minibatch = 0; minibatch < minibatches() && on; ++minibatch)
      on = learn_minibatch(samples, epoch, minibatch, means, cost);
  }
  if (!on)
    warnings_.tell("epochs that ppo.stop_kl ended",
                   fmt::format("iteration {}: approx_kl is beyond {} times ppo.stop_kl={}; the "
                               "rest of its epochs is left out",
                               tuned_.iterations + 1, kStopFactor, config_.ppo.stop_kl));
  tuned_.updates = planned;
  return means;
}

Rollout Tuner::sample(IterationCost& cost) {
  const Phase phase("sample answers", cost.generation);
  return sample_answers(config_, tuning_, *generator_, tuned_.iterations, run_.meeting());
}

KlFinding Tuner::judge(Rollout& rollout, IterationCost& cost) {
  const Phase phase("score answers", cost.scoring);
  score_answers(tuning_, rollout);
  actors_->judge(rollout.episodes);
  actors_->value(rollout.episodes);
  weigh_answers(config_, tuned_.kl_beta, rollout);
  const KlFinding kl = kl_finding(rollout.episodes);
  tuned_.negative_kl =
      guard_kl(kl, tuned_.negative_kl, config_.generate.sampling.temperature, warnings_);
  guard_scores(rollout.episodes, rollout.flat_groups, rollout.groups, config_.generate.max_tokens,
               config_.shaping.missing_end, warnings_);
  return kl;
}

void Tuner::advance() {
  IterationCost cost;
  Rollout rollout = sample(cost);
  cost.flops = rollout_flops(config_, rollout.episodes);
  const KlFinding kl = judge(rollout, cost);
  const StepMeans means = learn(rollout, cost);
  const NamedValues made = values(rollout, means, kl, cost);
  if (tuned_.iterations >= config_.critic.warmup)
    tuned_.kl_beta = next_beta(config_.kl, tuned_.kl_beta, kl.mean, config_.ppo.rollout_batch);
  train::RunState& state = run_.state();
  state.step = ++tuned_.iterations;
  state.samples += config_.ppo.rollout_batch;
  run_.folder().record(state.step, made);
  if (rollouts_) rollouts_->write(state.step, tuning_, rollout);
  result_.iterations.push_back(made);
  if (state.step % config_.run.run.log_every == 0 || state.step == config_.ppo.iterations)
    tell(rollout, made);
}

NamedValues Tuner::values(const Rollout& rollout, const StepMeans& means, const KlFinding& kl,
                          const IterationCost& cost) const {
  NamedValues made{{"episodes", run_.state().samples + config_.ppo.rollout_batch}};
  const auto add = [&](const NamedValues& more) {
    made.insert(made.end(), more.begin(), more.end());
  };
  add(answer_values(rollout, kl, tuned_.kl_beta));
  add(source_values(rollout));
  if (rollout.groups > 0)
    made.emplace_back("flat_groups", ratio(rollout.flat_groups, rollout.groups));
  if (config_.ppo.algorithm == PpoConfig::Algorithm::ppo)
    made.emplace_back("explained_variance", rollout.explained_variance);
  add(means.values());
  if (config_.run.precision() == DType::f16) made.emplace_back("loss_scale", loss_scale_.value());
  add(cost_values(cost, value_named(made, "answer_tokens") * rollout.episodes.size(),
                  config_.run.run.peak_flops));
  add(train::memory_values());
  return made;
}

void Tuner::tell(const Rollout& rollout, const NamedValues& values) const {
  const int64_t step = run_.state().step;
  const int64_t left = config_.ppo.iterations - step, here = step - first_iteration_;
  log::info("iteration {}/{}  {}  ETA {}", step, config_.ppo.iterations,
            progress_text(values, config_.run.run.peak_flops),
            readable_seconds((steady_seconds() - begun_) / here * left));
  for (int64_t i = 0; i < std::min(config_.ppo.shown, std::ssize(rollout.episodes)); ++i)
    log::info("  {}", answer_text(rollout.episodes[i], tuning_));
}

TuneResult Tuner::run() {
  run_.tell_start(
      actors_->policy().model().parameters().device(),
      fmt::format("{} answers an iteration, {} a minibatch, {} epochs", config_.ppo.rollout_batch,
                  config_.run.train.global_batch, config_.ppo.epochs));
  result_.stopped = run_.to_end(*this);
  if (run_.saved_step() == run_.state().step) save_mean();
  result_.done = tuned_.iterations;
  result_.committed = run_.saved_step() >= 0;
  run_.tell_end(result_.stopped,
                fmt::format("{} iterations in {}", tuned_.iterations - first_iteration_,
                            readable_seconds(steady_seconds() - begun_)));
  return std::move(result_);
}

}  // namespace

TuneResult tune(const TuneConfig& config, const Tuning& tuning, Group& world,
                const std::string& resolved, std::vector<Episode>* judged) {
  Tuner tuner(config, tuning, world, resolved);
  TuneResult result = tuner.run();
  if (judged && !result.stopped) tuner.actors().judge(*judged);
  return result;
}

}  // namespace skein::rlhf::policy
