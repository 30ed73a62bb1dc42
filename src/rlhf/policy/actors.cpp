#include "actors.h"

#include <numeric>

#include "skein/checkpoint/parameters.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"

#include "rollout.h"

namespace skein::rlhf::policy {
namespace {

PolicyRules rules_of(const TuneConfig& c) {
  PolicyRules rules;
  rules.distribution = {c.generate.sampling.temperature, c.generate.sampling.banned};
  rules.clip = c.ppo.clip;
  rules.entropy = c.ppo.entropy;
  rules.kl = c.ppo.kl_loss;
  rules.kl_estimator = c.ppo.kl_loss_estimator;
  rules.shared = c.has_shared_critic();
  rules.value = c.critic.rules;
  return rules;
}

train::PretrainConfig critic_config(const TuneConfig& c) {
  train::PretrainConfig made = c.run;
  made.model = critic_model(c.run.model);
  return made;
}

train::PretrainConfig policy_config(const TuneConfig& c) {
  train::PretrainConfig made = c.run;
  made.model = policy_model(c);
  made.model.head_std = 0;
  made.optimizer.mean_decay = c.ppo.ema;
  return made;
}

// The weights of a replica that a checkpoint has; its others keep their start values, which only a
// new head may.
void load_weights(train::Replica& replica, const checkpoint::CheckpointInfo& from, Part::Kind head,
                  Mesh& mesh) {
  const auto held = checkpoint_tensors(from, mesh.world());
  const auto targets = replica.optimizer().weights(false, [&](const Parameter& p) {
    return p.part.kind != head || held.contains(checkpoint::weight_name(p.tensor()));
  });
  load_checkpoint(from, targets, false, mesh.world());
  replica.optimizer().loaded(0);
}

}  // namespace

ModelConfig policy_model(const TuneConfig& config) {
  ModelConfig made = config.run.model;
  made.architecture->give_values(made, config.has_shared_critic());
  return made;
}

ModelConfig critic_model(const ModelConfig& policy) {
  ModelConfig made = policy;
  made.architecture->begin_labels(made, Head::token, 1);
  made.tie_embeddings = true;
  made.head_std = 0;
  return made;
}

Actors::Actors(const TuneConfig& config, const BatchPlan& plan, Mesh& mesh, const Tuning& tuning)
    : config_(config),
      tuning_(tuning),
      mesh_(mesh),
      rules_(rules_of(config)),
      policy_terms_(PolicyObjective::terms(rules_)) {
  if (!config.ptx.data.empty())
    texts_ = std::make_unique<PtxTexts>(config, plan, mesh, tuning.tokenizer);
  policy_ = std::make_unique<train::Replica>(policy_config(config), plan, mesh, policy_learning(),
                                             texts_ ? texts_->plan() : BatchPlan{});
  if (config.has_critic())
    critic_ = std::make_unique<train::Replica>(
        critic_config(config), plan, mesh,
        train::Learning{[this](const LocalModel& model) {
                          return std::make_unique<ValueObjective>(*model.scorer(), rules_.value);
                        },
                        ValueObjective::terms()});
  reference_ = frozen_policy(config.run, mesh, rules_.distribution, tuning.start);
}

std::vector<data::DataFile> Actors::data_files() const {
  std::vector<data::DataFile> files = tuning_.files;
  if (!texts_) return files;
  for (data::DataFile& file : texts_->files()) files.push_back(std::move(file));
  return files;
}

train::Learning Actors::policy_learning() const {
  train::Learning made{[this](const LocalModel& model) {
                         return std::make_unique<PolicyObjective>(*model.predictor(),
                                                                  model.value_head(), rules_);
                       },
                       policy_terms_};
  if (texts_)
    made.auxiliary = [](const LocalModel& model) {
      return std::make_unique<TokenTerm>(*model.predictor());
    };
  return made;
}

void Actors::begin(const CriticStart& critic) {
  load_weights(*policy_, tuning_.start, Part::value_head, mesh_);
  if (config_.ppo.ema > 0) policy_->optimizer().begin_mean();
  if (!critic_) return;
  load_weights(*critic_, critic.from ? *critic.from : tuning_.start, Part::label_head, mesh_);
  if (critic.from) log::info("the critic begins with the weights of {}", critic.from->path);
}

std::vector<checkpoint::Piece> Actors::pieces(bool own) const {
  std::vector<checkpoint::Piece> all = policy_->optimizer().pieces(own);
  if (!critic_) return all;
  for (checkpoint::Piece& piece : critic_->optimizer().pieces(own)) {
    piece.name = "critic_" + piece.name;
    all.push_back(std::move(piece));
  }
  return all;
}

std::vector<train::Replicated> Actors::replicated() const {
  std::vector<train::Replicated> all = policy_->optimizer().replicated();
  if (!critic_) return all;
  for (train::Replicated& one : critic_->optimizer().replicated()) {
    one.name = "critic_" + one.name;
    all.push_back(std::move(one));
  }
  return all;
}

void Actors::loaded(int64_t policy_steps, int64_t critic_steps) {
  policy_->optimizer().loaded(policy_steps);
  if (critic_) critic_->optimizer().loaded(critic_steps);
}

train::EvaluatedModel Actors::evaluated_model(train::Replica& replica) const {
  return {replica.pipeline(), replica.model().pass(), mesh_, config_.generate.batch};
}

Tensor Actors::answers(train::EvaluatedModel model, const EpisodeSamples& samples,
                       int64_t numbers) const {
  model.meeting = meeting_;
  return all_answers(model, samples, samples.samples_per_epoch(), samples.places(), numbers);
}

namespace {

std::vector<double> column(const Tensor& answers, size_t sample, size_t tokens, int64_t number) {
  std::vector<double> made;
  const float* from = answers.data<float>() + sample * answers.dim(1) * answers.dim(2);
  for (size_t i = 0; i < tokens; ++i) made.push_back(from[i * answers.dim(2) + number]);
  return made;
}

}  // namespace

void Actors::judge(std::vector<Episode>& episodes) const {
  const EpisodeSamples samples = learnt_samples(config_, episodes);
  const Tensor own = answers(evaluated_model(*policy_), samples, PolicyObjective::numbers(rules_));
  const Tensor reference =
      answers(reference_->evaluated(config_.generate.batch), samples, PolicyObjective::numbers({}));
  for (size_t i = 0; i < episodes.size(); ++i) {
    Trajectory& path = episodes[i].path;
    const size_t tokens = episodes[i].tokens.size();
    const std::vector<double> entropies = column(own, i, tokens, 1);
    episodes[i].entropy = std::accumulate(entropies.begin(), entropies.end(), 0.0) / tokens;
    path.logp = column(own, i, tokens, 0);
    path.ref_logp = column(reference, i, tokens, 0);
    if (rules_.shared) path.values = column(own, i, tokens, 2);
  }
}

void Actors::value(std::vector<Episode>& episodes) const {
  if (!critic_) return;
  const Tensor values = answers(evaluated_model(*critic_), learnt_samples(config_, episodes), 1);
  for (size_t i = 0; i < episodes.size(); ++i)
    episodes[i].path.values = column(values, i, episodes[i].tokens.size(), 0);
}

Actors::Step Actors::learn(const EpisodeSamples& samples, int64_t first, const Update& update) {
  const data::Batch batch = samples.batch(policy_->own_samples().shifted(first));
  Step made;
  std::optional<train::AuxiliaryBatch> auxiliary;
  if (texts_ && update.policy_learns) auxiliary = texts_->of_update(update.number);
  if (update.policy_learns)
    made.policy = policy_->step(batch, update.number, update.lr, update.loss_scale,
                                auxiliary ? &*auxiliary : nullptr);
  if (critic_)
    made.critic = critic_->step(batch, update.number, update.critic_lr, update.loss_scale);
  return made;
}

}  // namespace skein::rlhf::policy
