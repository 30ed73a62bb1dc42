// What a policy and a critic learn: values and gradients through a whole model, against sums
// written out from its logits in f64.
#include "skein/comm/local.h"
#include "skein/models/gpt/gpt.h"
#include "skein/rlhf/policy/episodes.h"
#include "skein/rlhf/policy/objective.h"

#include "rlhf/token_losses.h"
#include "support/gradient_check.h"

namespace skein::rlhf::policy {
namespace {

constexpr double kScale = 0.37;

ModelConfig small(bool value_head) {
  ModelConfig config;
  config.vocab_size = 11;
  config.context = 8;
  config.d_model = 8;
  config.n_layers = 2;
  config.n_heads = 2;
  config.d_ff = 12;
  config.init_std = 0.4;
  config.own.get<GptOptions>().value_head = value_head;
  return config;
}

ModelConfig small_critic() {
  ModelConfig config = small(false);
  config.head = Head::token;
  config.labels = 1;
  return config;
}

std::vector<Episode> three_answers() {
  std::vector<Episode> episodes(3);
  episodes[0].prompt.tokens = {1, 2, 3};
  episodes[0].tokens = {4, 5, 6};
  episodes[1].prompt.tokens = {3};
  episodes[1].tokens = {9, 8};
  episodes[2].prompt.tokens = {7, 5};
  episodes[2].tokens = {4, 4, 2, 10};
  int number = 0;
  for (Episode& episode : episodes)
    for (size_t i = 0; i < episode.tokens.size(); ++i, ++number) {
      episode.path.advantages.push_back(number % 3 == 1 ? -0.9 : 0.8 + 0.1 * number);
      episode.path.returns.push_back(0.3 * number - 1);
    }
  return episodes;
}

// A whole model in f64, and a batch of answers for it.
struct Problem {
  explicit Problem(const ModelConfig& config)
      : parameters(DType::f64, 0, 1), model(config, {0, 2, true, true, 0}, false, parameters) {
    parameters.allocate(true);
    parameters.initialize(3);
    pass.tp = alone.get();
    pass.batch = &batch;
    pass.loss_scale = kScale;
    fill();
  }

  void fill() {
    EpisodeSamples samples(episodes, 8, 5);
    samples.set_aggregation(Aggregation::sequence_mean, 3, 1);
    batch = placed(samples.batch(0, 3), {});
  }

  // Old probabilities, and values, near and far from what the model says now: every side of the
  // clipping.
  void remember(const Tensor& answers) {
    constexpr double kSteps[] = {0.5, -0.5, 0.05, 0, -0.1, 0.3};
    const int64_t columns = answers.dim(2);
    int number = 0;
    for (size_t e = 0; e < episodes.size(); ++e) {
      Trajectory& path = episodes[e].path;
      for (size_t i = 0; i < episodes[e].tokens.size(); ++i, ++number) {
        const float* now = answers.data<float>() +
                           (static_cast<int64_t>(e) * 5 + static_cast<int64_t>(i)) * columns;
        const double step = kSteps[number % 6];
        path.logp.push_back(now[0] - step);
        path.ref_logp.push_back(now[0] - 0.7 * step + 0.1);
        path.values.push_back(now[columns - 1] + 0.7 * step);
      }
    }
    fill();
  }

  Tensor answers(const Objective& objective) const {
    const NoGrad no_grad;
    return objective.answers(model.forward({}, pass), pass).at(0);
  }

  const float* known(int64_t i) const { return batch.known.data<float>() + i * known::columns; }
  double weight(int64_t i) const { return batch.weights.data<float>()[i]; }

  // Of the total of all terms by every parameter.
  void expect_gradients(const Objective& objective, const std::function<double()>& total) {
    const Losses losses = objective.losses(model.forward({}, pass), pass);
    backward(losses.rows, losses.row_weights);
    for (const Parameter& p : parameters.all()) {
      if (p.tied()) continue;
      for (const Parameter& second : parameters.all())
        if (second.tied_to == p.name)
          for (int64_t i = 0; i < p.value.size(); ++i)
            p.gradient.data<double>()[i] += second.gradient.data<double>()[i];
      test::compare_with_differences(p.value, p.gradient, total, 1e-5, p.name,
                                     std::max<int64_t>(1, p.value.size() / 7));
    }
  }

  std::unique_ptr<Group> alone = single_rank();
  Parameters parameters;
  Gpt model;
  std::vector<Episode> episodes = three_answers();
  data::Batch batch;
  LossPass pass;
};

// Weighted sums over places of each term.
std::map<std::string, double> sums(const Losses& losses, const std::vector<train::Term>& terms) {
  std::map<std::string, double> made;
  const double* row = losses.rows.value().data<double>();
  EXPECT_EQ(losses.weights.size(), terms.size());
  for (size_t term = 0; term < terms.size(); ++term)
    for (int64_t i = 0; i < losses.weights[term].size(); ++i)
      made[terms[term].name] += *row++ * losses.weights[term].data<float>()[i];
  return made;
}

// log p of the target at place i, and the entropy, under softmax(logits / temperature) over ids
// that are not banned.
std::pair<double, double> logp_and_entropy(const Problem& problem, const Tensor& features,
                                           int64_t i, const PolicyDistribution& distribution) {
  const Tensor& head = problem.model.head().value;
  std::vector<double> logits;
  double sum = 0, target = 0, mean = 0;
  for (int64_t id = 0; id < 11; ++id) {
    double logit = 0;
    for (int64_t c = 0; c < 8; ++c)
      logit += features.data<double>()[i * 8 + c] * head.data<double>()[id * 8 + c];
    logit /= distribution.temperature;
    if (id == problem.batch.targets.data<int32_t>()[i]) target = logit;
    if (std::find(distribution.banned.begin(), distribution.banned.end(), id) ==
        distribution.banned.end())
      logits.push_back(logit);
  }
  for (double logit : logits) sum += std::exp(logit);
  for (double logit : logits) mean += logit * std::exp(logit) / sum;
  return {target - std::log(sum), std::log(sum) - mean};
}

std::map<std::string, double> expected_sums(const Problem& problem, const PolicyRules& rules) {
  const NoGrad no_grad;
  const Var output = problem.model.forward({}, problem.pass);
  const Tensor features = problem.model.rows(output, problem.pass).value();
  const Tensor values =
      rules.shared ? problem.model.values(output, problem.pass).value() : Tensor();
  std::map<std::string, double> made;
  for (int64_t i = 0; i < problem.batch.weights.size(); ++i) {
    if (problem.weight(i) == 0) continue;
    const float* known = problem.known(i);
    const auto [logp, entropy] = logp_and_entropy(problem, features, i, rules.distribution);
    const PolicyLoss policy =
        policy_loss(logp, known[known::old_logp], known[known::advantage], rules.clip);
    made["policy_loss"] +=
        known[known::factor] *
        (policy.loss + rules.kl * kl_estimate(rules.kl_estimator, logp - known[known::ref_logp]));
    made["approx_kl"] += 0.5 * std::pow(logp - known[known::old_logp], 2);
    made["clipped"] += policy.clipped;
    made["ratio"] += policy.ratio;
    if (rules.entropy != 0) made["entropy_bonus"] -= rules.entropy * entropy * known[known::factor];
    if (!rules.shared) continue;
    const ValueLoss value = value_loss(values.data<double>()[i], known[known::old_value],
                                       known[known::return_to_go], rules.value.clip);
    made["value_loss"] += rules.value.coefficient * known[known::factor] * value.loss;
    made["value_clipped"] += value.clipped;
  }
  return made;
}

void check_policy(const PolicyRules& rules) {
  Problem problem(small(rules.shared));
  const PolicyObjective objective(problem.model, problem.model.value_head(), rules);
  problem.remember(problem.answers(objective));
  const auto expected = expected_sums(problem, rules);
  auto found = sums(objective.losses(problem.model.forward({}, problem.pass), problem.pass),
                    PolicyObjective::terms(rules));
  EXPECT_EQ(found["ratio_off"], 8) << "one of nine steps is 0";
  found.erase("ratio_off");
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, sum] : expected) EXPECT_NEAR(found[name], sum, 1e-5) << name;
  EXPECT_GT(found["clipped"], 0);
  EXPECT_LT(found["clipped"], 9);
  for (Parameter& p : problem.parameters.all()) p.gradient.fill_zero();
  problem.expect_gradients(objective, [&] {
    double total = 0;
    for (const auto& [name, sum] : expected_sums(problem, rules))
      if (name == "policy_loss" || name == "value_loss" || name == "entropy_bonus")
        total += kScale * sum;
    return total;
  });
}

TEST(PolicyObjective, LearnsTheClippedLoss) { check_policy({}); }

TEST(PolicyObjective, LearnsAtATemperatureWithoutBannedIds) {
  PolicyRules rules;
  rules.distribution = {0.7, {0, 3}};
  rules.clip.dual = 1.5;
  check_policy(rules);
}

TEST(PolicyObjective, LearnsTheKlToItsReference) {
  PolicyRules rules;
  rules.kl = 0.3;
  check_policy(rules);
  rules.kl_estimator = KlEstimator::k3;
  check_policy(rules);
}

TEST(PolicyObjective, LearnsEntropyAndValuesBesides) {
  PolicyRules rules;
  rules.distribution = {0.7, {3}};
  rules.entropy = 0.2;
  check_policy(rules);
  rules.shared = true;
  rules.value = {0.4, 0.3};
  check_policy(rules);
}

TEST(PolicyObjective, GivesBannedIdsNoProbability) {
  Problem problem(small(false));
  PolicyRules rules;
  const Tensor open =
      problem.answers(PolicyObjective(problem.model, problem.model.value_head(), rules));
  rules.distribution.banned = {4};
  const Tensor banned =
      problem.answers(PolicyObjective(problem.model, problem.model.value_head(), rules));
  EXPECT_LT(banned.data<float>()[0], -1e6) << "the first token is banned";
  for (int64_t i : {1, 2, 5, 6})
    EXPECT_GT(banned.data<float>()[i * 2], open.data<float>()[i * 2]) << "others share what it had";
}

TEST(PolicyObjective, SaysWhatItLearns) {
  Problem problem(small(true));
  PolicyRules rules;
  rules.shared = true;
  rules.distribution = {0.7, {3}};
  const Tensor said =
      problem.answers(PolicyObjective(problem.model, problem.model.value_head(), rules));
  const NoGrad no_grad;
  const Var output = problem.model.forward({}, problem.pass);
  ASSERT_EQ(said.shape().dims(), (std::vector<int64_t>{3, 5, 3}));
  const Tensor features = problem.model.rows(output, problem.pass).value(),
               values = problem.model.values(output, problem.pass).value();
  for (int64_t i = 0; i < 15; ++i) {
    if (problem.weight(i) == 0) continue;
    const auto [logp, entropy] = logp_and_entropy(problem, features, i, rules.distribution);
    EXPECT_NEAR(said.data<float>()[i * 3], logp, 1e-6);
    EXPECT_NEAR(said.data<float>()[i * 3 + 1], entropy, 1e-6);
    EXPECT_EQ(said.data<float>()[i * 3 + 2], static_cast<float>(values.data<double>()[i]));
  }
}

void expect_learns_returns(const ValueRules& rules) {
  Problem problem(small_critic());
  const auto value = [&](const Tensor& said, int64_t i) {
    return (said.data<double>()[i] - rules.mean) / rules.deviation;
  };
  const ValueObjective objective(problem.model, rules);
  problem.remember(problem.answers(objective));
  const auto expected = [&] {
    const NoGrad no_grad;
    const Tensor values =
        problem.model.label_scores(problem.model.forward({}, problem.pass), problem.pass).value();
    std::pair<double, double> made;
    for (int64_t i = 0; i < values.size(); ++i) {
      const float* known = problem.known(i);
      if (problem.weight(i) == 0) continue;
      const ValueLoss one = value_loss(value(values, i), known[known::old_value],
                                       known[known::return_to_go], rules.clip);
      made.first += known[known::factor] * one.loss;
      made.second += one.clipped;
    }
    return made;
  };
  const auto found = sums(objective.losses(problem.model.forward({}, problem.pass), problem.pass),
                          ValueObjective::terms());
  EXPECT_NEAR(found.at("value_loss"), expected().first, 1e-6);
  EXPECT_EQ(found.at("value_clipped"), expected().second);
  EXPECT_GT(expected().second, 0);
  EXPECT_LT(expected().second, 9);
  problem.expect_gradients(objective, [&] { return kScale * expected().first; });
  const NoGrad no_grad;
  const Tensor told = problem.answers(objective),
               said =
                   problem.model.label_scores(problem.model.forward({}, problem.pass), problem.pass)
                       .value();
  for (int64_t i = 0; i < told.size(); ++i)
    EXPECT_EQ(told.data<float>()[i], static_cast<float>(value(said, i)));
}

TEST(ValueObjective, LearnsReturnsWithinItsClip) { expect_learns_returns({1, 0.3}); }

TEST(ValueObjective, LearnsReturnsOnAnotherScaleThanItsModels) {
  expect_learns_returns({1, 0.3, 0.25, 0.5});
}

}  // namespace
}  // namespace skein::rlhf::policy
