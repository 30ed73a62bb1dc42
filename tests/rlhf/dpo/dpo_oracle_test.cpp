// Pairs drawn from a policy and judged by a known utility teach it the optimum for that utility,
// which an enumerable language tells exactly; and by IPO the optimum for the chance of being
// preferred (Azar et al. 2023, theorem 1).
#include "skein/core/numbers.h"
#include "skein/rlhf/oracle/oracle.h"
#include "skein/rlhf/oracle/samples.h"

#include "rlhf/dpo_fixture.h"
#include "rlhf/small_language.h"

namespace skein::rlhf::dpo {
namespace {

class OracleTask : public train::Task {
 public:
  OracleTask(const oracle::OracleLanguage& language, const data::SampleSource& samples,
             int64_t length)
      : tokenizer_(oracle_tokenizer(language)), samples_(samples), length_(length) {}
  const data::SampleSource& samples() const override { return samples_; }
  int64_t length() const override { return length_; }
  text::StoredTokenizer tokenizer() const override { return tokenizer_; }
  bool validates() const override { return false; }
  train::Scores validate(const train::EvaluatedModel&) const override { return {}; }

 private:
  text::StoredTokenizer tokenizer_;
  const data::SampleSource& samples_;
  int64_t length_;
};

class OracleDpo : public OracleTask {
 public:
  OracleDpo(const oracle::OracleLanguage& language, const DpoSamples& samples,
            const DpoRules& rules)
      : OracleTask(language, samples, samples.length()), rules_(rules) {}
  std::unique_ptr<Objective> objective(const LocalModel& model) const override {
    return std::make_unique<DpoObjective>(*model.predictor(), rules_);
  }
  std::vector<train::Term> terms() const override { return DpoObjective::terms(rules_); }
  bool adapts() const override { return true; }

 private:
  DpoRules rules_;
};

class DpoOracle : public testing::Test {
 protected:
  DpoOracle() {
    config_.model.vocab_size = language_.vocab_size();
    config_.model.context = language_.context() + 1;
    config_.model.d_model = 32;
    config_.model.n_layers = 2;
    config_.model.n_heads = 2;
    config_.train.global_batch = 64;
    config_.train.micro_batch = 16;
    config_.optimizer.weight_decay = 0;
    config_.lr.min_lr = 0;
    config_.validation.every = 0;
    config_.run.log_every = 1000;
    config_.run.tensorboard = false;
  }

  checkpoint::CheckpointInfo trained(const std::string& name, train::Task& task, int64_t steps,
                                     double lr, const std::string& from = "") {
    train::PretrainConfig c = config_;
    c.run.dir = folder_.file(name);
    c.train.steps = steps;
    c.lr.lr = lr;
    c.lr.warmup = steps / 10;
    c.checkpoint.load = from;
    run_ranks(1, [&](Group& world) { train::train(c, task, world); });
    const auto alone = single_rank();
    return *checkpoint::find_checkpoint(folder_.file(name), *alone);
  }

  rewards::AnswerSequence sequence(size_t prompt, int64_t response) const {
    rewards::AnswerSequence made{language_.prompt_tokens(language_.prompts[prompt])};
    made.begin = made.size();
    const std::vector<int32_t> answer = language_.response_tokens(response);
    made.tokens.insert(made.tokens.end(), answer.begin(), answer.end());
    return made;
  }

  // Of all responses, among which alone pairs choose: each prompt's sum to 1.
  oracle::ResponseLogs logs_of(const checkpoint::CheckpointInfo& policy) {
    const int64_t responses = language_.responses.size();
    AnswerPairs all;
    for (size_t x = 0; x < language_.prompts.size(); ++x)
      for (int64_t y = 0; y < responses; ++y) {
        all.answers.push_back(sequence(x, y));
        all.pairs.push_back({all.answers.size() - 1, 0});
      }
    DpoSamples samples(std::move(all), 1, language_.pad_id(), 1, false);
    run_ranks(1, [&](Group& world) { ask_reference(config_, policy, world, {&samples}); });
    oracle::ResponseLogs logs(language_.prompts.size());
    for (int64_t i = 0; i < samples.samples_per_epoch(); ++i)
      logs[static_cast<size_t>(i / responses)].push_back(samples.reference(i).ref_chosen);
    for (std::vector<double>& row : logs) {
      const double sum = oracle::log_sum(row);
      for (double& log : row) log -= sum;
    }
    return logs;
  }

  // Two different responses of the reference each, the better one by a draw of sigmoid(sharpness
  // times the difference of their rewards).
  AnswerPairs judged_pairs(const oracle::ResponseLogs& reference, int64_t count,
                           double sharpness = 1) const {
    Chance chance(5);
    std::vector<oracle::WeightedDraw> draws;
    for (const std::vector<double>& row : reference) {
      std::vector<double> weights;
      for (double log : row) weights.push_back(std::exp(log));
      draws.emplace_back(weights);
    }
    const oracle::OracleDraws prompts(language_, 3);
    const std::vector<double>& rewards = language_.rewards[0].rewards;
    AnswerPairs made;
    for (int64_t k = 0; made.pairs.size() < static_cast<size_t>(count); ++k) {
      const auto x = static_cast<size_t>(prompts.prompt(k));
      const int64_t first = draws[x].at(chance.uniform()), second = draws[x].at(chance.uniform());
      if (first == second) continue;
      const bool first_better =
          chance.uniform() < sigmoid(sharpness * (rewards[static_cast<size_t>(first)] -
                                                  rewards[static_cast<size_t>(second)]));
      made.answers.push_back(sequence(x, first));
      made.answers.push_back(sequence(x, second));
      const size_t at = made.answers.size() - 2;
      made.pairs.push_back(first_better ? AnswerPairs::Pair{at, at + 1}
                                        : AnswerPairs::Pair{at + 1, at});
    }
    return made;
  }

  // Of each response, how often it is preferred to one of the reference.
  std::vector<double> preferred(const std::vector<double>& reference, double sharpness) const {
    const std::vector<double>& rewards = language_.rewards[0].rewards;
    std::vector<double> made(rewards.size());
    for (size_t y = 0; y < rewards.size(); ++y)
      for (size_t other = 0; other < rewards.size(); ++other)
        made[y] += std::exp(reference[other]) * sigmoid(sharpness * (rewards[y] - rewards[other]));
    return made;
  }

  // Which share of the way from the reference to the optimum of IPO the policy has gone, as a gain
  // in E[preferred] - beta KL: 1 - KL(policy, best) / KL(reference, best), over all prompts.
  double closed_by_ipo(const oracle::ResponseLogs& reference, const oracle::ResponseLogs& policy,
                       double beta, double sharpness) const {
    double left = 0, whole = 0;
    for (size_t x = 0; x < reference.size(); ++x) {
      const std::vector<double> best =
          oracle::best_logs(preferred(reference[x], sharpness), beta, reference[x]);
      for (size_t y = 0; y < best.size(); ++y) {
        left += std::exp(policy[x][y]) * (policy[x][y] - best[y]);
        whole += std::exp(reference[x][y]) * (reference[x][y] - best[y]);
      }
    }
    EXPECT_GT(whole, 0.05 * static_cast<double>(reference.size())) << "there is something to learn";
    return 1 - left / whole;
  }

  oracle::ResponseLogs tuned_by(const DpoRules& rules, AnswerPairs pairs,
                                const checkpoint::CheckpointInfo& start) {
    DpoSamples samples(std::move(pairs), 8, language_.pad_id(), 1, true);
    run_ranks(1, [&](Group& world) { ask_reference(config_, start, world, {&samples}); });
    OracleDpo task(language_, samples, rules);
    return logs_of(trained(DpoObjective::loss_term(rules), task, 300, 2e-3, folder_.file("start")));
  }

  test::Scratch folder_;
  oracle::OracleLanguage language_ =
      oracle::parse_oracle_language(kLengthLanguage + "beta 0.5\n", "the test");
  train::PretrainConfig config_;
};

TEST_F(DpoOracle, ComesNearTheOptimumOfTheUtility) {
  const oracle::OracleSamples texts(language_, 1, 64);
  OracleTask pretraining(language_, texts, texts.context());
  const checkpoint::CheckpointInfo start = trained("start", pretraining, 300, 3e-3);
  const oracle::ResponseLogs reference = logs_of(start);
  const DpoRules rules{{0.5, 0}, 0};
  const oracle::OracleNumbers numbers =
      oracle_numbers(language_, language_.rewards[0], rules.loss.beta, reference,
                     tuned_by(rules, judged_pairs(reference, 6000), start));
  RecordProperty("closed", fmt::format("{:.4f}", numbers.closed()));
  EXPECT_GT(numbers.closed(), 0.95)
      << numbers.value << " of " << numbers.best << ", begun at " << numbers.reference;
  EXPECT_FALSE(numbers.above_best());
  EXPECT_NEAR(numbers.divergence, numbers.best_divergence, 0.1 * numbers.best_divergence);
  EXPECT_GT(numbers.best - numbers.reference, 0.2) << "there is something to learn";

  const double sharpness = 4;
  const DpoRules ipo{{.beta = 0.5, .kind = DpoKind::ipo}, 0};
  const oracle::ResponseLogs tuned = tuned_by(ipo, judged_pairs(reference, 6000, sharpness), start);
  const double closed = closed_by_ipo(reference, tuned, ipo.loss.beta, sharpness);
  RecordProperty("closed_by_ipo", fmt::format("{:.4f}", closed));
  EXPECT_GT(closed, 0.95);
}

}  // namespace
}  // namespace skein::rlhf::dpo
