#include "skein/rlhf/oracle/run.h"

#include <fstream>
#include <map>

#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/values.h"
#include "skein/formats/crc32c.h"
#include "skein/rlhf/oracle/episodes.h"
#include "skein/rlhf/oracle/samples.h"
#include "skein/rlhf/policy/ppo.h"
#include "skein/train/judge.h"
#include "skein/train/trainer.h"

namespace skein::rlhf::oracle {
namespace {

constexpr const char* kBuiltIn = "built-in";

// Three rewards of different kind: how long, how full of one symbol, and of which shape, where the
// first token decides about the last.
constexpr const char* kBuiltInLanguage = R"(alphabet  A B C
end       </s>
separator <sep>
pad       <pad>
initial   A 0.5   B 0.3   C 0.2
from A    A 0.12  B 0.50  C 0.23  </s> 0.15
from B    A 0.20  B 0.08  C 0.52  </s> 0.20
from C    A 0.50  B 0.22  C 0.10  </s> 0.18
prompts   chain 1 3
response  5
unended   replace -1
reward    length
beta      0.25
closed    0.97
reward    palindrome shortest=2
beta      0.5
closed    0.90
reward    count B
beta      0.25
closed    0.97
)";

// What its texts are drawn from.
std::string text_source(const OracleLanguage& language) {
  nlohmann::ordered_json json{{"alphabet", language.alphabet},
                              {"initial", language.initial},
                              {"transitions", language.transitions},
                              {"response", language.responses.length()}};
  for (const OraclePrompt& prompt : language.prompts)
    json["prompts"].push_back({prompt.symbols, prompt.probability});
  return json.dump();
}

class OraclePretraining : public train::Task {
 public:
  OraclePretraining(const OracleLanguage& language, uint64_t seed, int64_t samples)
      : language_(language),
        training_(language, seed, samples),
        held_out_(language, seed + 1, kHeldOut),
        tokenizer_(oracle_tokenizer(language)) {}

  const data::SampleSource& samples() const override { return training_; }
  int64_t length() const override { return training_.context(); }
  text::StoredTokenizer tokenizer() const override { return tokenizer_; }
  train::TaskNotes notes() const override { return train::TaskNotes(text_source(language_)); }
  void check_notes(const train::TaskNotes& notes, const std::string& origin) const override {
    require(notes == this->notes(),
            "{} was pretrained on another language than {} has now; give another run.dir", origin,
            language_.origin);
  }
  bool validates() const override { return true; }
  train::Scores validate(const train::EvaluatedModel& model) const override {
    const double loss = mean_loss(model), least = least_text_loss(language_);
    return {fmt::format("loss {:.4f} on fresh texts; no model of this language gets below {:.4f}",
                        loss, least),
            {{"loss", loss}, {"least_loss", least}},
            -loss};
  }

 private:
  static constexpr int64_t kHeldOut = 1024;

  double mean_loss(const train::EvaluatedModel& model) const {
    const auto sums = judge(model, held_out_, kHeldOut, 1, false,
                            [](const data::Batch&, const std::vector<Tensor>&) {});
    double sum = 0, counted = 0;
    for (double one : sums[0]) sum += one;
    for (float weight : held_out_.batch(0, kHeldOut).weights.span<float>()) counted += weight;
    return sum / counted;
  }

  OracleLanguage language_;
  OracleSamples training_, held_out_;
  text::StoredTokenizer tokenizer_;
};

class OracleScores : public rewards::RewardSource {
 public:
  OracleScores(const OracleLanguage& language, const OracleReward& reward)
      : language_(language), reward_(reward) {}
  std::string name() const override { return reward_.text; }
  std::vector<double> scores(std::span<const rewards::Answer> answers) override {
    std::vector<double> made;
    for (const rewards::Answer& answer : answers) {
      const int64_t response = language_.response_of(answer.tokens);
      SKEIN_CHECK(response >= 0);
      made.push_back(reward_.scores[response]);
    }
    return made;
  }

 private:
  const OracleLanguage& language_;
  const OracleReward& reward_;
};

train::PretrainConfig pretraining_config(const OracleRunConfig& oracle, const policy::TuneConfig& c,
                                         const OracleLanguage& language) {
  train::PretrainConfig made;
  made.model.vocab_size = language.vocab_size();
  // The last token of an answer is not fed, but has to fit.
  made.model.context = language.context() + 1;
  made.model.d_model = oracle.d_model;
  made.model.n_layers = oracle.n_layers;
  made.model.n_heads = oracle.n_heads;
  made.parallel = c.run.parallel;
  made.train.seed = c.run.train.seed;
  made.train.precision = c.run.train.precision;
  made.train.global_batch = 64;
  made.train.micro_batch = 8;
  made.train.steps = oracle.pretraining;
  made.lr.lr = oracle.pretraining_lr;
  made.lr.min_lr = 0;
  made.lr.warmup = 50;
  made.optimizer.weight_decay = 0;
  made.optimizer.adamw.beta2 = 0.99;
  made.validation.every = 0;
  made.checkpoint.every = 0;
  made.run.log_every = std::max<int64_t>(1, oracle.pretraining / 5);
  made.run.dir = c.run.run.dir + "/pretrained";
  made.run.restart = c.run.run.restart;
  return made;
}

bool sampled_above(const policy::TuneResult& result, double best, int64_t episodes) {
  return std::any_of(
      result.iterations.begin(), result.iterations.end(), [&](const NamedValues& values) {
        return sampled_above_best(value_named(values, "reward"),
                                  value_named(values, "reward_deviation"), episodes, best);
      });
}

std::string folder_name(const std::string& reward, double beta) {
  std::string made = fmt::format("{}-{}", reward, beta);
  for (char& c : made)
    if (!std::isalnum(c & 0xFF) && c != '.' && c != '-') c = '_';
  return made;
}

// A reward and a beta to tune for.
struct Target {
  const OracleReward& reward;
  double beta;
  policy::TuneConfig config;
};

class OracleRun {
 public:
  OracleRun(const OracleRunConfig& oracle, const policy::TuneConfig& config, Group& world,
            const std::string& resolved)
      : oracle_(oracle),
        config_(config),
        world_(world),
        resolved_(resolved),
        language_(oracle_language(oracle.language)),
        tokenizer_(oracle_tokenizer(language_)) {}

  OracleResult run() {
    OracleResult result;
    const train::PretrainConfig pretraining = pretraining_config(oracle_, config_, language_);
    const std::vector<Target> targets = this->targets(pretraining.model);
    if (!targets.empty())
      for (const std::string& caveat : optimum_caveats(targets.front().config))
        log::warn("the proof may fail: {}", caveat);
    if (!oracle_.dump.empty()) begin_dump();
    OraclePretraining task(language_, config_.run.train.seed,
                           pretraining.train.steps * pretraining.train.global_batch);
    log::info("pretraining on {}: {} prompts with {} responses each", language_.origin,
              language_.prompts.size(), language_.responses.size());
    const train::TrainResult pretrained = train::train(pretraining, task, world_, resolved_);
    result.stopped = pretrained.stopped;
    result.committed = pretrained.committed;
    const auto start =
        result.stopped ? std::nullopt : checkpoint::find_checkpoint(pretraining.run.dir, world_);
    for (const Target& target : targets)
      if (!result.stopped) tune_for(target, *start, result);
    return result;
  }

 private:
  // All are settled before anything is computed. Rewards of one text, such as two tables, get
  // folders of their own.
  std::vector<Target> targets(const ModelConfig& model) const {
    std::vector<Target> made;
    std::map<std::string, int> named;
    for (const OracleReward& reward : language_.rewards)
      for (double beta : reward.betas) {
        const std::string name = folder_name(reward.text, beta);
        const int times = ++named[name];
        policy::TuneConfig c = config_;
        c.run.run.dir += "/" + name + (times > 1 ? fmt::format("-{}", times) : "");
        adapt(c, beta, model);
        made.push_back({reward, beta, c});
      }
    return made;
  }

  void adapt(policy::TuneConfig& c, double beta, const ModelConfig& model) const {
    c.run.model = model;
    c.kl.beta = beta;
    c.kl.control = policy::KlConfig::Control::fixed;
    c.generate.max_tokens = language_.responses.length();
    charge_unended(language_, c.shaping);
    settle(c);
  }

  void begin_dump() {
    checkpoint::agree(world_, [&] {
      if (world_.rank() > 0) return;
      dump_.open(oracle_.dump, std::ios::trunc);
      require(dump_.is_open(), "oracle.dump={} cannot be written", oracle_.dump);
    });
  }

  void tune_for(const Target& target, const checkpoint::CheckpointInfo& start,
                OracleResult& result) {
    const auto& [reward, beta, c] = target;
    std::vector<rewards::RewardMixture::Part> parts;
    parts.push_back({1, "oracle", std::make_unique<OracleScores>(language_, reward)});
    rewards::RewardMixture rewards(std::move(parts));
    const OraclePrompts prompts(language_, c.run.train.seed);
    policy::Tuning tuning{
        {start, *tokenizer_}, prompts, rewards, language_.end_id(), oracle_banned(language_)};
    tuning.settings = {
        {"oracle.reward", fmt::format("{} (checksum {:08x})", reward.text,
                                      formats::crc32c(std::as_bytes(std::span(reward.rewards))))}};
    tuning.settings_stay = true;
    log::info("tuning for \"{}\" with beta {}", reward.text, beta);
    std::vector<policy::Episode> all = oracle_episodes(language_);
    const policy::TuneResult tuned = tune(c, tuning, world_, resolved_, &all);
    result.stopped = tuned.stopped;
    if (tuned.stopped) return;
    const ResponseLogs policy = oracle_logs(language_, all, &policy::Trajectory::logp),
                       reference = oracle_logs(language_, all, &policy::Trajectory::ref_logp);
    check_mass(language_, policy, "the tuned policy");
    check_mass(language_, reference, "the reference");
    OracleOutcome outcome{reward.text, beta, reward.closed,
                          oracle_numbers(language_, reward, beta, reference, policy)};
    outcome.caveats = optimum_caveats(c);
    outcome.sampled_above = sampled_above(tuned, outcome.numbers.best, c.ppo.rollout_batch);
    result.outcomes.push_back(outcome);
    if (dump_.is_open()) dump(reward, beta, reference, policy);
  }

  void dump(const OracleReward& reward, double beta, const ResponseLogs& reference,
            const ResponseLogs& policy) {
    dump_ << "# reward " << reward.text << ", beta " << beta << "\n";
    write_oracle_dump(dump_, language_, reward, beta, reference, policy);
    dump_.flush();
    if (!dump_) fail("{} cannot be written", oracle_.dump);
  }

  const OracleRunConfig& oracle_;
  const policy::TuneConfig& config_;
  Group& world_;
  const std::string& resolved_;
  OracleLanguage language_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::ofstream dump_;
};

}  // namespace

void bind(Options& options, OracleRunConfig& c) {
  options.add("oracle.language", c.language,
              "tune the enumerable language of this file and compare with the exact optimum; "
              "\"built-in\" is one; --oracle=FILE, --oracle");
  options.add("oracle.dump", c.dump,
              "file for the exact log-probability of every response under the tuned policy; "
              "--dump=FILE, --dump alone: responses.tsv");
  options.add("oracle.pretraining", c.pretraining, "steps of its pretraining", "steps");
  options.add("oracle.pretraining_lr", c.pretraining_lr, "their learning rate");
  options.add("oracle.d_model", c.d_model, "width of its model");
  options.add("oracle.n_layers", c.n_layers, "blocks of its model");
  options.add("oracle.n_heads", c.n_heads, "heads of its model");
}

std::vector<std::pair<std::string, std::string>> oracle_defaults() {
  return {{"run.dir", "runs/oracle"},  {"run.log_every", "10"},   {"run.tensorboard", "false"},
          {"checkpoint.every", "50"},  {"checkpoint.keep", "1"},  {"train.global_batch", "128"},
          {"train.micro_batch", "32"}, {"generate.batch", "512"}, {"ppo.rollout_batch", "512"},
          {"ppo.iterations", "100"},   {"ppo.epochs", "4"},       {"ppo.shown", "1"},
          {"lr.lr", "1e-3"},           {"optimizer.clip", "1"},   {"optimizer.epsilon", "1e-5"}};
}

OracleLanguage oracle_language(const std::string& path) {
  return path == kBuiltIn ? parse_oracle_language(kBuiltInLanguage, "the built-in language")
                          : read_oracle_language(path);
}

OracleResult run_oracle(const OracleRunConfig& oracle, const policy::TuneConfig& config,
                        Group& world, const std::string& resolved) {
  require(!config.run.run.dir.empty(),
          "run.dir is empty, but --oracle keeps the pretrained model there; give a folder");
  require(oracle.pretraining >= 1,
          "oracle.pretraining={} must be at least 1: the reference of --oracle is what its "
          "pretraining makes",
          oracle.pretraining);
  require(
      !config.run.parallel.sequence,
      "parallel.sequence divides sequences, but those of --oracle have a few tokens; leave it out");
  require(config.shaping.score_clip == 0,
          "reward.score_clip={} would make the rewards of --oracle others than those it knows the "
          "optimum of; leave it out",
          config.shaping.score_clip);
  return OracleRun(oracle, config, world, resolved).run();
}

}  // namespace skein::rlhf::oracle
