#include "skein/rlhf/policy/ppo_config.h"

#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein::rlhf::policy {

TuneConfig tune_defaults() {
  TuneConfig c;
  c.run.run.dir = "runs/ppo";
  c.run.run.log_every = 1;
  c.run.train.global_batch = 64;
  c.run.train.micro_batch = 8;
  c.run.lr.lr = 3e-6;
  c.run.lr.min_lr = 0;
  c.run.lr.warmup = 0;
  c.run.lr.decay = train::LrConfig::Decay::linear;
  c.run.optimizer.adamw.beta2 = 0.999;
  c.run.optimizer.adamw.epsilon = 1e-5;
  c.run.optimizer.weight_decay = 0;
  c.run.checkpoint.every = 10;
  c.run.validation.every = 10;
  c.generate.max_tokens = 64;
  c.generate.batch = 64;
  c.generate.sampling.temperature = 1;
  return c;
}

namespace {

void bind(Options& options, PpoConfig& c) {
  using Algorithm = PpoConfig::Algorithm;
  options.add_choice(
      "ppo.algorithm", c.algorithm,
      {{"ppo", Algorithm::ppo}, {"rloo", Algorithm::rloo}, {"grpo", Algorithm::grpo}},
      "ppo: with a critic; rloo, grpo: baselines from several answers to a prompt");
  options.add("ppo.iterations", c.iterations, "times that answers are sampled and learnt from");
  options.add("ppo.rollout_batch", c.rollout_batch, "answers an iteration, over all ranks",
              "episodes");
  options.add("ppo.answers", c.answers,
              "answers to each prompt; 0: 1 for ppo, 4 for rloo and grpo");
  options.add("ppo.epochs", c.epochs,
              "passes over an iteration's answers; 0: 4 for ppo (Ziegler et al. 2019), 1 for rloo "
              "and grpo");
  bind(options, c.clip);
  options.add("ppo.gamma", c.gamma, "discount of later rewards; 1 in all published work");
  options.add("ppo.lambda", c.lambda,
              "of generalised advantage estimation (Ziegler et al. 2019: 0.95)");
  options.add("ppo.whiten", c.whiten, "advantages of an iteration get mean 0 and deviation 1");
  options.add("ppo.divide_by_std", c.divide_by_std,
              "grpo: advantages are divided by the deviation of their prompt's rewards; false, "
              "with ppo.aggregation=constant: Dr. GRPO (Liu et al. 2025)");
  options.add("ppo.kl_in_reward", c.kl_in_reward,
              "grpo: the KL to the reference is charged in the reward of an answer (kl.beta), as "
              "rloo does, not as a loss");
  options.add("ppo.entropy", c.entropy, "coefficient of the bonus for entropy");
  options.add("ppo.kl_loss", c.kl_loss,
              "coefficient of the KL to the reference as a loss, beside or instead of that in the "
              "reward (kl.beta); -1: kl.beta for grpo without ppo.kl_in_reward, else 0");
  options.add_choice(
      "ppo.kl_loss_estimator", c.kl_loss_estimator,
      {{"k2", KlEstimator::k2}, {"k3", KlEstimator::k3}},
      "of that loss: the gradient of KL(policy, reference), or of its reverse as GRPO has it");
  options.add_choice("ppo.aggregation", c.aggregation,
                     {{"token_mean", Aggregation::token_mean},
                      {"sequence_mean", Aggregation::sequence_mean},
                      {"constant", Aggregation::constant}},
                     "each token of a minibatch counts alike, or each answer, or as tokens over "
                     "generate.max_tokens");
  options.add("ppo.ema", c.ema,
              "keeps a running mean of the policy's weights, of which so much stays at each step, "
              "and leaves it in run.dir/ema; 0: none (InstructGPT: 0.992)");
  options.add(
      "ppo.stop_kl", c.stop_kl,
      "once approx_kl exceeds 1.5 times this, the iteration's other epochs are left out; 0: never");
  options.add("ppo.shown", c.shown, "answers shown at each progress line");
  options.add("ppo.save_rollouts", c.save_rollouts,
              "writes every answer with its scores, reward and KL to run.dir/rollouts.jsonl");
}

void bind(Options& options, PtxConfig& c) {
  options.add("ptx.data", c.data,
              "token stores of texts that the policy learns beside its answers, each \"path\" or "
              "\"weight:path\"; none: no such texts");
  options.add("ptx.coefficient", c.coefficient,
              "of their loss, the mean over tokens (InstructGPT: 27.8)");
  options.add("ptx.batch", c.batch, "texts a step, over all ranks; 0: train.global_batch");
  options.add("ptx.length", c.length, "of each text; 0: the model's context", "tokens");
}

void bind(Options& options, CriticConfig& c) {
  options.add_choice(
      "critic.kind", c.kind,
      {{"separate", CriticConfig::Kind::separate}, {"shared", CriticConfig::Kind::shared}},
      "a model of its own, or a second head on the policy");
  options.add(
      "critic.load", c.load,
      "reward model or critic it begins from; empty: the policy's weights and a head of zeros");
  options.add("critic.lr", c.lr, "its learning rate; 0: lr.lr");
  options.add("critic.warmup", c.warmup, "iterations in which it learns and the policy does not");
  options.add("critic.coefficient", c.rules.coefficient,
              "of its loss, which matters where the trunk is shared (0.1 in Ziegler et al. 2019)");
  options.add(
      "critic.clip", c.rules.clip,
      "a value counts within this of what it was when the answers were sampled; 0: not clipped");
}

void bind_run(Options& options, train::PretrainConfig& c) {
  options.add("train.global_batch", c.train.global_batch,
              "answers of a minibatch, over all ranks: one optimizer step", "episodes");
  options.add("train.micro_batch", c.train.micro_batch, "answers a forward and backward pass",
              "episodes");
  options.add("train.seed", c.train.seed, "of prompts' order, sampling and minibatches");
  bind_precision(options, "train.precision", c.train.precision,
                 "of parameters and activations, while the optimizer keeps f32");
  bind(options, c.train.loss_scale);
  options.add("train.max_skipped", c.train.max_skipped,
              "steps in a row without a finite gradient before giving up", "steps");
}

}  // namespace

void bind(Options& options, TuneConfig& c) {
  bind(options, c.ppo);
  bind(options, c.ptx);
  bind(options, c.kl);
  bind(options, c.shaping);
  bind(options, c.critic);
  options.add("generate.max_tokens", c.generate.max_tokens, "longest answer", "tokens");
  options.add("generate.batch", c.generate.batch, "answers decoded together, and scored together",
              "episodes");
  options.add("sample.temperature", c.generate.sampling.temperature,
              "of the policy, and of the reference and all log-probabilities with it");
  bind(options, c.run.parallel);
  bind_run(options, c.run);
  options.add("validation.every", c.run.validation.every,
              "iterations between evaluations on held-out prompts; 0: only at the end");
  options.add("validation.patience", c.run.validation.patience,
              "evaluations in a row without a better one after which the run ends; 0: never");
  bind(options, c.run.lr);
  bind(options, c.run.optimizer);
  bind(options, c.run.checkpoint);
  bind(options, c.run.run);
}

namespace {

void check_counts(const TuneConfig& c) {
  const PpoConfig& p = c.ppo;
  require(p.iterations > 0 && p.rollout_batch > 0 && p.answers >= 0 && p.epochs >= 0,
          "ppo.iterations={} and ppo.rollout_batch={} must be at least 1, ppo.answers={} and "
          "ppo.epochs={} at least 0",
          p.iterations, p.rollout_batch, p.answers, p.epochs);
  constexpr double kMost = int64_t{1} << 53;
  const double answers = 1.0 * p.iterations * p.rollout_batch * std::max<int64_t>(1, p.epochs);
  require(answers <= kMost,
          "ppo.iterations={} of ppo.rollout_batch={} answers and ppo.epochs={} are {:.3g} answers, "
          "but a run counts {:.3g} at most; take fewer",
          p.iterations, p.rollout_batch, p.epochs, answers, kMost);
  require(c.run.train.global_batch > 0 && c.run.train.micro_batch > 0 && c.run.run.log_every > 0 &&
              c.run.checkpoint.every >= 0 && c.run.checkpoint.keep > 0,
          "train.global_batch={}, train.micro_batch={}, run.log_every={} and checkpoint.keep={} "
          "must be at least 1, checkpoint.every={} at least 0",
          c.run.train.global_batch, c.run.train.micro_batch, c.run.run.log_every,
          c.run.checkpoint.keep, c.run.checkpoint.every);
  require(c.run.validation.every >= 0 && c.run.validation.patience >= 0,
          "validation.every={} and validation.patience={} must be at least 0",
          c.run.validation.every, c.run.validation.patience);
  require(c.run.train.max_skipped > 0, "train.max_skipped={} must be at least 1",
          c.run.train.max_skipped);
  check(c.run.optimizer);
  require(p.rollout_batch % c.run.train.global_batch == 0,
          "ppo.rollout_batch={} answers do not divide into minibatches of train.global_batch={}; "
          "make one a multiple of the other",
          p.rollout_batch, c.run.train.global_batch);
  require(p.rollout_batch % p.answers_each() == 0,
          "ppo.rollout_batch={} is no multiple of the {} answers to each prompt (ppo.answers)",
          p.rollout_batch, p.answers_each());
  require(p.algorithm == PpoConfig::Algorithm::ppo || p.answers_each() > 1,
          "ppo.answers={}: rloo and grpo compare several answers to a prompt; give at least 2",
          p.answers);
  require(c.critic.warmup >= 0 && c.critic.warmup < p.iterations,
          "critic.warmup={} must be below ppo.iterations={}", c.critic.warmup, p.iterations);
  require(c.critic.warmup == 0 || c.has_critic(),
          "critic.warmup={}: only a critic of its own learns before the policy does; it needs "
          "ppo.algorithm=ppo and critic.kind=separate",
          c.critic.warmup);
  require(c.critic.load.empty() || c.has_critic(),
          "critic.load={} needs a critic of its own: ppo.algorithm=ppo and critic.kind=separate",
          c.critic.load);
}

void check_grpo(const TuneConfig& c) {
  const bool grpo = c.ppo.algorithm == PpoConfig::Algorithm::grpo;
  require(grpo || c.ppo.divide_by_std,
          "ppo.divide_by_std=false: only ppo.algorithm=grpo divides advantages by the deviation of "
          "a prompt's rewards; leave it out");
  require(grpo || !c.ppo.kl_in_reward,
          "ppo.kl_in_reward=true: only ppo.algorithm=grpo has the KL anywhere else; leave it out");
  require(c.kl_in_reward() || c.kl.control == KlConfig::Control::fixed,
          "kl.control=adaptive steers the KL that is charged in the reward, but grpo has it as a "
          "loss; give ppo.kl_in_reward=true, or leave kl.control out");
}

void check_numbers(const TuneConfig& c) {
  require(c.ppo.gamma >= 0 && c.ppo.gamma <= 1 && c.ppo.lambda >= 0 && c.ppo.lambda <= 1,
          "ppo.gamma={} and ppo.lambda={} must be from 0 to 1", c.ppo.gamma, c.ppo.lambda);
  require(c.ppo.stop_kl >= 0, "ppo.stop_kl={} must not be negative", c.ppo.stop_kl);
  require(c.ppo.kl_loss >= 0 || c.ppo.kl_loss == -1,
          "ppo.kl_loss={} must be at least 0, or -1 for what goes with the algorithm",
          c.ppo.kl_loss);
  require(!c.ppo.save_rollouts || !c.run.run.dir.empty(),
          "ppo.save_rollouts=true needs a folder to write to, but run.dir is empty");
  require(c.ppo.ema >= 0 && c.ppo.ema < 1, "ppo.ema={} must be from 0 (none) to below 1",
          c.ppo.ema);
  require(
      c.critic.rules.clip >= 0 && c.critic.rules.coefficient > 0 && c.critic.lr >= 0,
      "critic.clip={} and critic.lr={} must not be negative, critic.coefficient={} must be above 0",
      c.critic.rules.clip, c.critic.lr, c.critic.rules.coefficient);
  require(c.generate.sampling.temperature > 0,
          "sample.temperature={}: a policy that learns must sample; give a number above 0",
          c.generate.sampling.temperature);
  require(c.run.lr.decay != train::LrConfig::Decay::noam,
          "lr.decay=noam is for models that are trained from the start; use inverse_sqrt");
  resolved(c.run.lr, c.run.model.d_model);  // refuses what changes nothing
  require(c.run.lr.lr > 0 && c.run.lr.unit == train::LrConfig::Unit::steps,
          "lr.lr={} must be above 0, and lr.unit is steps where answers are learnt from",
          c.run.lr.lr);
  require(!c.run.parallel.cuda_graph, "parallel.cuda_graph records pretraining only; leave it out");
  check(c.run.train.loss_scale, c.run.precision());
}

void settle(PtxConfig& ptx, const train::PretrainConfig& run) {
  require(ptx.coefficient > 0 && ptx.batch >= 0 && ptx.length >= 0,
          "ptx.coefficient={} must be above 0, ptx.batch={} and ptx.length={} at least 0",
          ptx.coefficient, ptx.batch, ptx.length);
  if (ptx.batch == 0) ptx.batch = run.train.global_batch;
  if (ptx.length == 0) ptx.length = run.model.context;
  require(ptx.length <= run.model.context,
          "ptx.length={} is more than the {} tokens of the policy's context", ptx.length,
          run.model.context);
  require(!run.parallel.sequence || ptx.length % run.parallel.tensor == 0,
          "ptx.length={} does not divide by parallel.tensor={}, as parallel.sequence needs",
          ptx.length, run.parallel.tensor);
}

}  // namespace

void settle(TuneConfig& c) {
  check_counts(c);
  check_grpo(c);
  check_numbers(c);
  check(c.ppo.clip);
  check(c.kl, c.ppo.rollout_batch);
  check(c.shaping);
  if (!c.ptx.data.empty()) settle(c.ptx, c.run);
  c.ppo.answers = c.ppo.answers_each();
  c.ppo.epochs = c.ppo.epochs_each();
  c.run.train.steps =
      c.ppo.iterations * c.ppo.epochs * (c.ppo.rollout_batch / c.run.train.global_batch);
  if (c.run.lr.decay == train::LrConfig::Decay::automatic)
    c.run.lr.decay = train::LrConfig::Decay::linear;
  check(c.run.lr, c.run.train.steps, 1);
  const int64_t frozen = c.critic.warmup * (c.run.train.steps / c.ppo.iterations);
  warn_of_no_rate(c.run.lr, {frozen, frozen, c.run.train.steps, 1}, "ppo.iterations");
  // The KL of answers that are compared with each other is a loss; in the reward it would be
  // divided by their deviation (Shao et al. 2024).
  c.ppo.kl_loss = c.kl_loss();
  if (const std::string caveat = kl_caveat(c.shaping.estimator);
      c.kl_in_reward() && !caveat.empty())
    log::warn("reward.kl_estimator: {}", caveat);
  if (c.run.model.drops())
    log::info(
        "model.dropout={} of the policy (attention {}, activation {}, whole branches {}) is left "
        "out: "
        "with it no ratio of probabilities would mean anything",
        c.run.model.dropout, c.run.model.dropout_of_attention(), c.run.model.activation_dropout,
        c.run.model.stochastic_depth);
  c.run.model.take_dropout({});
  c.generate.precision = c.run.train.precision;
  c.generate.sampling.seed = c.run.train.seed;
}

std::vector<std::string> optimum_caveats(const TuneConfig& c) {
  std::vector<std::string> made;
  const char* estimator = c.ppo.kl_loss_estimator == KlEstimator::k2 ? "k2" : "k3";
  if (!c.kl_in_reward())
    made.push_back(
        fmt::format("ppo.algorithm=grpo has the KL to the reference as a loss (ppo.kl_loss={}, "
                    "ppo.kl_loss_estimator={}), whose optimum is not that of E[r] - beta KL: a "
                    "loss per token leaves out what the token does to the KL of later ones{}; give "
                    "ppo.kl_in_reward=true{}, or take ppo.algorithm=rloo or ppo",
                    c.ppo.kl_loss, estimator,
                    c.ppo.divide_by_std
                        ? ", and the advantages are divided by their deviation while the KL is not"
                        : "",
                    c.ppo.divide_by_std ? " and ppo.divide_by_std=false" : ""));
  else if (c.ppo.kl_loss > 0)
    made.push_back(
        fmt::format("ppo.kl_loss={} charges the KL to the reference a second time, beside "
                    "kl.beta={} in the reward; leave it out",
                    c.ppo.kl_loss, c.kl.beta));
  if (c.ppo.entropy != 0)
    made.push_back(fmt::format("ppo.entropy={} pays for entropy beside the reward; leave it out",
                               c.ppo.entropy));
  if (const std::string caveat = kl_caveat(c.shaping.estimator);
      c.kl_in_reward() && !caveat.empty())
    made.push_back(fmt::format("reward.kl_estimator: {}; leave it out", caveat));
  return made;
}

}  // namespace skein::rlhf::policy
