#include "skein/rlhf/ppo.h"

#include <chrono>
#include <cmath>
#include <optional>

#include "rollout.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/philox.h"
#include "skein/data/order.h"
#include "skein/rlhf/guards.h"
#include "skein/train/progress.h"
#include "skein/train/run_folder.h"
#include "skein/train/run_state.h"
#include "skein/train/stop.h"
#include "tune_state.h"

namespace skein {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kStopFactor = 1.5;
constexpr size_t kShownBytes = 240;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// One line, and not too long a one.
std::string excerpt(const std::string& text) {
  std::string made;
  for (char c : text) made += c == '\n' ? ' ' : c;
  if (made.size() <= kShownBytes) return made;
  size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(made[end]) & 0xC0) == 0x80) --end;
  return made.substr(0, end) + "...";
}

// Means of what the minibatches of an iteration came to.
class StepMeans {
 public:
  void add(const std::vector<Term>& terms, const StepResult& result, const std::string& prefix = "") {
    for (size_t i = 0; i < result.terms.size(); ++i) add(prefix + terms[i].name, result.terms[i]);
    if (!result.terms.empty()) add(prefix + "grad_norm", result.grad_norm);
  }
  NamedValues values() const {
    NamedValues made;
    for (const auto& [name, sum] : sums_) made.emplace_back(name, sum.first / static_cast<double>(sum.second));
    return made;
  }
  void add(const std::string& name, double value) {
    for (auto& [known, sum] : sums_)
      if (known == name) {
        sum.first += value;
        ++sum.second;
        return;
      }
    sums_.emplace_back(name, std::pair(value, int64_t{1}));
  }
  double mean(const std::string& name) const {
    for (const auto& [known, sum] : sums_)
      if (known == name) return sum.first / static_cast<double>(sum.second);
    return 0;
  }

 private:
  std::vector<std::pair<std::string, std::pair<double, int64_t>>> sums_;
};

class Tuner {
 public:
  Tuner(const TuneConfig& config, const Tuning& tuning, Group& world, const std::string& resolved);
  TuneResult run();
  void hand_over(const Afterwards& afterwards) const {
    afterwards([&](const std::vector<Episode>& answers) { return actors_->logps(answers, false); },
               [&](const std::vector<Episode>& answers) { return actors_->logps(answers, true); });
  }

 private:
  struct Times {
    double generation = 0, scoring = 0, training = 0;
    double all() const { return generation + scoring + training; }
  };

  std::optional<CheckpointInfo> find_own();
  void take_over_groups(const CheckpointInfo& own);
  std::string compare_settings(const std::string& origin) const;
  void begin(const CriticStart& critic);
  // tuned_ is what own says of itself.
  void resume(const CheckpointInfo& own);
  void save();
  void save_mean() const;
  // False when the run was asked to stop: nothing was learnt then.
  bool iterate(TuneResult& result);
  StepMeans learn(Rollout& rollout, const EpisodeSamples& samples);
  // False once the rest of the iteration's epochs is left out.
  bool learn_minibatch(EpisodeSamples& samples, int64_t epoch, int64_t minibatch, StepMeans& means);
  double rate(double lr) const;
  NamedValues values(const Rollout& rollout, const StepMeans& means, const KlFinding& kl, const Times& times) const;
  void tell(const Rollout& rollout, const NamedValues& values) const;
  int64_t minibatches() const { return config_.ppo.rollout_batch / config_.run.train.global_batch; }

  TuneConfig config_;
  Tuning tuning_;
  MeshShape shape_;
  Mesh mesh_;
  RunFolder folder_;
  BatchPlan plan_;
  std::unique_ptr<Actors> actors_;
  std::unique_ptr<Generator> generator_;
  std::unique_ptr<CheckpointStore> store_;
  RunState state_;
  TuneState tuned_;
  KlController kl_;
  StopRequest stop_;
  Clock::time_point begun_ = Clock::now();
  int64_t first_iteration_ = 0, saved_ = -1;
};

Tuner::Tuner(const TuneConfig& config, const Tuning& tuning, Group& world, const std::string& resolved)
    : config_(config), tuning_(tuning), shape_(mesh_shape(config.run.parallel, world.size())), mesh_(world, shape_),
      folder_(config.run.run.dir, config.run.run.tensorboard), kl_(config.kl), stop_(config.run.run.dir) {
  const auto own = find_own();
  if (own) take_over_groups(*own);
  plan_ = plan_batch(config_.run.parallel, shape_, config_.run.train.global_batch, config_.run.train.micro_batch);
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
  state_.reduction_groups = plan_.groups;
  state_.tokenizer = tuning.tokenizer.to_json();
  PretrainConfig stored = config_.run;
  stored.model.value_head = config_.critic.kind == CriticConfig::Kind::shared && config_.ppo.algorithm == PpoConfig::Algorithm::ppo;
  state_.config = config_values(stored);
  if (own) resume(*own);
  else begin(critic);
  first_iteration_ = tuned_.iterations;
  folder_.begin(resolved, tuned_.iterations, world);
  if (folder_.writes()) store_ = std::make_unique<CheckpointStore>(folder_.checkpoints(), static_cast<int>(config_.run.checkpoint.keep), world);
  else log::warn("run.dir is empty: this run leaves no checkpoint and no metrics");
}

// The sums' grouping stays what it was, so that a run has the same bits however its layout changes on the way.
void Tuner::take_over_groups(const CheckpointInfo& own) {
  const int64_t groups = run_state(own.metadata, own.path).reduction_groups;
  if (config_.run.parallel.reduction_groups != 0) return;
  if (groups % shape_.dp == 0 && config_.run.train.global_batch % groups == 0) config_.run.parallel.reduction_groups = groups;
  else
    log::warn("the {} reduction groups of {} do not fit {} data-parallel ranks and minibatches of {}: gradients will be summed in another order", groups,
              own.path, shape_.dp, config_.run.train.global_batch);
}

// Settings that number answers and steps must stay; others may change, and are told.
std::string Tuner::compare_settings(const std::string& origin) const {
  std::string changes;
  for (const auto& [key, value] : tune_settings(config_, tuning_.settings)) {
    const auto before = tuned_.settings.find(key);
    if (before == tuned_.settings.end() || before->second == value) continue;
    const bool counts = key == "ppo.rollout_batch" || key == "ppo.answers" || key == "ppo.epochs" || key == "train.global_batch";
    require(!counts && !tuning_.settings_stay, "{} was tuned with {}={}, now it is {}; give the same, or another run.dir", origin, key, before->second, value);
    changes += fmt::format("\n  {}: {} -> {}", key, before->second, value);
  }
  return changes;
}

std::optional<CheckpointInfo> Tuner::find_own() {
  return folder_.writes() ? find_checkpoint(folder_.checkpoints(), mesh_.world()) : std::nullopt;
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
  // Sums came later than paths.
  require(tuned_.start_sum ? tuned_.start_sum == tuning_.start.sum : tuned_.start == tuning_.start.path,
          "{} was tuned from {}, which is its reference still, but the weights that checkpoint.load names are others, {}; give the same, or another run.dir", own.path,
          tuned_.start, tuning_.start.path);
  require(same_template(tuned_.chat, tuning_.chat),
          "{} was tuned with another chat template; give the same, or another run.dir", own.path);
  require((tuned_.ema > 0) == (config_.ppo.ema > 0), "{} was tuned with ppo.ema={}, now it is {}: a running mean is of all steps or of none; give the same, or another run.dir",
          own.path, tuned_.ema, config_.ppo.ema);
  tuned_.ema = config_.ppo.ema;
  PretrainConfig now = config_.run;
  now.model.value_head = state_.config.at("model.value_head") == "true";
  const std::string changes = compare_with_stored(stored, now, state_.tokenizer, own.path) + compare_settings(own.path);
  tuned_.settings = tune_settings(config_, tuning_.settings);
  load_checkpoint(own, actors_->pieces(false), true, mesh_.world());
  actors_->loaded(stored.optimizer_steps, tuned_.critic_steps);
  state_.step = stored.step;
  state_.samples = stored.samples;
  state_.optimizer_steps = stored.optimizer_steps;
  state_.skipped_in_a_row = stored.skipped_in_a_row;
  if (config_.kl.control == KlConfig::Control::adaptive) kl_ = KlController(config_.kl, tuned_.kl);
  saved_ = stored.step;
  log::info("goes on from {} (iteration {})", own.path, tuned_.iterations);
  if (!changes.empty()) log::info("options that changed since then:{}", changes);
}

void Tuner::save() {
  if (!store_ || saved_ == state_.step) return;
  state_.optimizer_steps = actors_->policy().optimizer().steps();
  tuned_.critic_steps = actors_->critic() ? actors_->critic()->optimizer().steps() : 0;
  tuned_.kl = kl_.state();
  state_.notes = with_instructions(to_json(tuned_), tuning_.instructions);
  store_->save(state_.step, actors_->pieces(true), to_json(state_, shape_));
  saved_ = state_.step;
}

// A model without its moments, as one that is imported.
void Tuner::save_mean() const {
  if (!store_ || config_.ppo.ema == 0) return;
  CheckpointStore store(folder_.path() + "/ema", 1, mesh_.world());
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
  if (!applied) log::warn("iteration {}: the gradient norm is not finite; the step is skipped", tuned_.iterations + 1);
  if (state_.skipped_in_a_row >= config_.run.train.max_skipped)
    fail("iteration {}: the gradient norm was not finite {} steps in a row; go on from the newest checkpoint with a lower lr.lr than {}",
         tuned_.iterations + 1, state_.skipped_in_a_row, config_.run.lr.lr);
  return config_.ppo.stop_kl == 0 || own.mean("approx_kl") <= kStopFactor * config_.ppo.stop_kl;
}

StepMeans Tuner::learn(Rollout& rollout, const EpisodeSamples& all) {
  StepMeans means;
  EpisodeSamples samples = all;
  const auto count = static_cast<int64_t>(rollout.episodes.size());
  const int64_t planned = tuned_.updates + config_.ppo.epochs * minibatches();
  bool on = true;
  for (int64_t epoch = 0; epoch < config_.ppo.epochs && on; ++epoch) {
    std::vector<int64_t> order;
    const uint64_t key = derive_key(config_.run.train.seed, "minibatches");
    for (int64_t i = 0; i < count; ++i) order.push_back(permuted(key, tuned_.iterations * config_.ppo.epochs + epoch, count, i));
    samples.set_order(std::move(order));
    for (int64_t minibatch = 0; minibatch < minibatches() && on; ++minibatch) on = learn_minibatch(samples, epoch, minibatch, means);
  }
  if (!on) log::info("iteration {}: approx_kl is beyond {} times ppo.stop_kl={}; the rest of its epochs is left out", tuned_.iterations + 1, kStopFactor, config_.ppo.stop_kl);
  tuned_.updates = planned;
  return means;
}

bool Tuner::iterate(TuneResult& result) {
  Times times;
  Clock::time_point start = Clock::now();
  Rollout rollout = sample_answers(config_, tuning_, *generator_, tuned_.iterations);
  times.generation = seconds_since(start);
  if (stop_.agreed(mesh_.world())) return false;
  start = Clock::now();
  score_answers(tuning_, rollout);
  EpisodeSamples samples(rollout.episodes, longest_row(rollout.episodes, config_.run.model.context, row_multiple(config_.run.parallel)),
                         longest_answer(rollout.episodes));
  samples.set_aggregation(config_.ppo.aggregation, config_.run.train.global_batch, config_.generate.max_tokens);
  actors_->judge(rollout.episodes, samples);
  weigh_answers(config_, kl_.beta(), rollout);
  const KlFinding kl = kl_finding(rollout.episodes);
  tuned_.negative_kl = guard_kl(kl, tuned_.negative_kl, config_.generate.sampling.temperature);
  guard_scores(rollout.episodes, rollout.flat_groups, rollout.groups, config_.generate.max_tokens);
  times.scoring = seconds_since(start);
  start = Clock::now();
  const StepMeans means = learn(rollout, samples);
  times.training = seconds_since(start);
  const NamedValues made = values(rollout, means, kl, times);
  if (tuned_.iterations >= config_.critic.warmup) kl_.update(kl.mean, config_.ppo.rollout_batch);
  state_.step = ++tuned_.iterations;
  state_.samples += config_.ppo.rollout_batch;
  folder_.record(state_.step, made);
  result.iterations.push_back(made);
  if (state_.step % config_.run.run.log_every == 0 || state_.step == config_.ppo.iterations) tell(rollout, made);
  return true;
}

double deviation_of(const std::vector<Episode>& episodes, double mean, double (*of)(const Episode&)) {
  double squares = 0;
  for (const Episode& episode : episodes) squares += std::pow(of(episode) - mean, 2);
  return std::sqrt(squares / static_cast<double>(episodes.size()));
}

double mean_of(const std::vector<Episode>& episodes, double (*of)(const Episode&)) {
  double sum = 0;
  for (const Episode& episode : episodes) sum += of(episode);
  return sum / static_cast<double>(episodes.size());
}

NamedValues Tuner::values(const Rollout& rollout, const StepMeans& means, const KlFinding& kl, const Times& times) const {
  const auto score = [](const Episode& one) { return one.score; };
  const auto reward = [](const Episode& one) { return response_reward(one.path); };
  const auto length = [](const Episode& one) { return static_cast<double>(one.tokens.size()); };
  const auto& episodes = rollout.episodes;
  const double mean_score = mean_of(episodes, score), mean_reward = mean_of(episodes, reward), tokens = mean_of(episodes, length);
  NamedValues made{{"episodes", static_cast<double>(state_.samples + config_.ppo.rollout_batch)},
                   {"reward", mean_reward}, {"reward_deviation", deviation_of(episodes, mean_reward, reward)},
                   {"score", mean_score}, {"score_deviation", deviation_of(episodes, mean_score, score)},
                   {"kl", kl.mean}, {"kl_error", kl.error}, {"kl_beta", kl_.beta()},
                   {"entropy", mean_of(episodes, [](const Episode& one) { return one.entropy; })},
                   {"answer_tokens", tokens}, {"ended", mean_of(episodes, [](const Episode& one) { return one.path.ended ? 1.0 : 0.0; })}};
  if (rollout.source_means.size() > 1) made.insert(made.end(), rollout.source_means.begin(), rollout.source_means.end());
  if (rollout.groups > 0) made.emplace_back("flat_groups", static_cast<double>(rollout.flat_groups) / static_cast<double>(rollout.groups));
  if (config_.ppo.algorithm == PpoConfig::Algorithm::ppo) {
    std::vector<Trajectory> paths;
    for (const Episode& episode : episodes) paths.push_back(episode.path);
    made.emplace_back("explained_variance", explained_variance(paths));
  }
  for (const auto& value : means.values()) made.push_back(value);
  const double all = times.all();
  made.insert(made.end(), {{"lr", rate(0)}, {"seconds", all}, {"generation_share", times.generation / all}, {"scoring_share", times.scoring / all},
                           {"training_share", times.training / all},
                           {"generated_tokens_per_second", tokens * static_cast<double>(episodes.size()) / times.generation}});
  return made;
}

double value_named(const NamedValues& values, const std::string& name) {
  for (const auto& [known, value] : values)
    if (known == name) return value;
  return 0;
}

void Tuner::tell(const Rollout& rollout, const NamedValues& values) const {
  const auto at = [&](const char* name) { return value_named(values, name); };
  const int64_t left = config_.ppo.iterations - state_.step, here = state_.step - first_iteration_;
  log::info("iteration {}/{}  reward {:.4f}  score {:.4f}  kl {:.3f}  length {:.1f}  ended {:.0f}%  entropy {:.3f}  approx_kl {:.2e}  clipped {:.1f}%  "
            "{:.1f} s (generation {:.0f}%, scoring {:.0f}%, training {:.0f}%)  ETA {}",
            state_.step, config_.ppo.iterations, at("reward"), at("score"), at("kl"), at("answer_tokens"), 100 * at("ended"), at("entropy"),
            at("approx_kl"), 100 * at("clipped"), at("seconds"), 100 * at("generation_share"), 100 * at("scoring_share"), 100 * at("training_share"),
            readable_seconds(seconds_since(begun_) / static_cast<double>(here) * static_cast<double>(left)));
  for (int64_t i = 0; i < std::min<int64_t>(config_.ppo.shown, static_cast<int64_t>(rollout.episodes.size())); ++i) {
    const Episode& one = rollout.episodes[static_cast<size_t>(i)];
    log::info("  score {:.3f}, kl {:.3f}: {} => {}", one.score, response_kl(one.path), excerpt(one.prompt.text()), excerpt(tuning_.text_of(one.tokens)));
  }
}

TuneResult Tuner::run() {
  TuneResult result;
  log::info("{} parameters, {} by {} | pipeline {} x data {} x tensor {} | {} answers an iteration, {} a minibatch, {} epochs",
            readable_count(static_cast<double>(config_.run.model.parameters())), name_of(config_.run.precision()),
            unit_of(actors_->policy().model().parameters().device(), config_.run.precision()), shape_.pp, shape_.dp, shape_.tp,
            config_.ppo.rollout_batch, config_.run.train.global_batch, config_.ppo.epochs);
  if (tuned_.iterations >= config_.ppo.iterations) log::info("iteration {} of {} is done already; raise ppo.iterations to go on", tuned_.iterations, config_.ppo.iterations);
  while (tuned_.iterations < config_.ppo.iterations && !result.stopped) {
    result.stopped = !iterate(result);
    const int64_t every = config_.run.checkpoint.every;
    if (!result.stopped && every > 0 && state_.step % every == 0) save();
  }
  save();
  save_mean();
  if (result.stopped) stop_.clear();
  result.done = tuned_.iterations;
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
