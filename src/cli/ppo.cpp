#include "skein/rlhf/policy/ppo.h"

#include <algorithm>
#include <cstdio>
#include <fmt/ranges.h>
#include <optional>

#include "skein/checkpoint/agree.h"
#include "skein/generate/sampling.h"
#include "skein/models/architecture.h"
#include "skein/rlhf/oracle/run.h"
#include "skein/rlhf/policy/file_prompts.h"
#include "skein/rlhf/policy/tune_outlook.h"
#include "skein/rlhf/rewards/reward_list.h"
#include "skein/train/tasks/adapting.h"
#include "skein/train/trained_model.h"

#include "command.h"
#include "long_run.h"

namespace skein::cli {
namespace {

struct PpoCommand {
  rlhf::policy::TuneConfig tune = rlhf::policy::tune_defaults();
  train::ChatDataConfig chat;
  rlhf::oracle::OracleRunConfig oracle;
  std::vector<std::string> prompts, validation_prompts;
  rlhf::rewards::RewardOptions rewards;
  bool ban_special = true;
};

void bind(Options& options, PpoCommand& c) {
  options.add("data.prompts", c.prompts,
              "files of prompts or conversations, whose last answers are left out (JSONL)");
  options.add("data.validation_prompts", c.validation_prompts,
              "files of prompts that are not learnt from, for evaluations; the weights with the "
              "best reward on them are kept in run.dir/best");
  bind(options, c.chat);
  bind(options, c.rewards);
  options.add("sample.ban_special", c.ban_special,
              "special tokens other than the answer's end are never sampled");
  bind(options, c.tune);
  bind(options, c.oracle);
}

// Refuses what was given in vain: an option of which `unread` holds, at another than its usual
// value.
void refuse_given(const Options& options, const std::function<bool(const std::string&)>& unread,
                  const std::string& why) {
  PpoCommand standard;
  Options defaults("", "");
  bind(defaults, standard);
  const auto usual = defaults.values();
  for (const auto& option : options.values())
    require(!unread(option.first) || !options.given(option.first) ||
                std::ranges::find(usual, option) != usual.end(),
            "{}={} was given, but {}", option.first, option.second, why);
}

// What only a critic, or advantages that come from one, would read.
void refuse_of_critic(const Options& options, const rlhf::policy::TuneConfig& c) {
  if (c.ppo.algorithm == rlhf::policy::PpoConfig::Algorithm::ppo) return;
  const auto of_critic = [](const std::string& key) {
    return key.starts_with("critic.") || key == "ppo.gamma" || key == "ppo.lambda" ||
           key == "ppo.whiten";
  };
  refuse_given(
      options, of_critic,
      fmt::format("{} has no critic: the advantages are differences of the rewards of "
                  "several answers to a prompt; leave it out, or take ppo.algorithm=ppo",
                  c.ppo.algorithm == rlhf::policy::PpoConfig::Algorithm::rloo ? "rloo" : "grpo"));
}

// What only another choice of an option beside it would read.
void refuse_of_choices(const Options& options, const rlhf::policy::TuneConfig& c) {
  using MissingEnd = rlhf::policy::ShapingConfig::MissingEnd;
  const auto refuse = [&](const std::string& unread, const std::string& why) {
    refuse_given(
        options, [&](const std::string& key) { return key.starts_with(unread); },
        why + "; leave it out");
  };
  if (c.kl.control == rlhf::policy::KlConfig::Control::fixed)
    for (const char* key : {"kl.target", "kl.horizon"})
      refuse(key, "kl.control=fixed keeps kl.beta as it is, and only adaptive reads it");
  const MissingEnd missing_end = c.shaping.missing_end;
  if (missing_end == MissingEnd::none || missing_end == MissingEnd::mask)
    refuse("reward.missing_end_value",
           fmt::format("reward.missing_end={} charges nothing, and only replace and subtract read "
                       "it",
                       missing_end == MissingEnd::none ? "none" : "mask"));
  if (c.ptx.data.empty()) refuse("ptx.", "ptx.data names no texts that are learnt beside answers");
  if (c.has_shared_critic())
    refuse("critic.lr", "critic.kind=shared is a head of the policy, which learns by lr.lr");
  if (!c.kl_in_reward())
    refuse("reward.kl_estimator",
           "ppo.algorithm=grpo has the KL as a loss, whose estimator is ppo.kl_loss_estimator");
  if (c.kl_loss() == 0)
    refuse("ppo.kl_loss_estimator", "there is no KL as a loss that it would be of (ppo.kl_loss=0)");
}

// What the language says in a proof.
void refuse_of_files(const Options& options) {
  const auto of_files = [](const std::string& key) {
    for (const char* section :
         {"data.", "validation.", "chat.", "kl.", "reward.sources", "reward.process_seconds",
          "reward.missing_end", "generate.max_tokens", "sample.ban_special", "checkpoint.load"})
      if (key.starts_with(section)) return true;
    return false;
  };
  refuse_given(options, of_files,
               "--oracle takes policy, prompts, rewards, beta and the longest answer from its "
               "language; leave it out");
}

train::TrainedModel open_policy(const PpoCommand& c, Group& world) {
  const std::string& path = c.tune.run.checkpoint.load;
  require(!path.empty(),
          "checkpoint.load names no policy to begin from; give the folder of its run");
  require(!c.prompts.empty(), "data.prompts names no file of prompts");
  require(!c.rewards.sources.empty(),
          "reward.sources names nothing that scores answers, such as \"model:runs/reward\" or "
          "\"length:target=40\"");
  train::TrainedModel policy =
      train::open_trained_model(path, c.tune.run.parallel.timeout, world, "checkpoint.load");
  require_tokenizer(policy);
  require(policy.model.architecture->continues_text(policy.model),
          "checkpoint.load={} is no language model that continues text; a policy is a GPT with "
          "model.head=vocabulary",
          path);
  train::require_one_way(policy.model, "skein ppo");
  train::require_scored_as_drawn(policy.model, "skein ppo");
  return policy;
}

rlhf::policy::TuneOrigin origin_of(const PpoCommand& c, const train::TrainedModel& source,
                                   const text::ChatTemplate& form,
                                   const rlhf::policy::FilePrompts& prompts,
                                   const std::optional<rlhf::policy::FilePrompts>& held_out,
                                   const Options& options) {
  const auto about = [](const std::vector<std::string>& files, const auto& all) {
    return fmt::format("{} ({} prompts)", fmt::join(files, ","), all.size());
  };
  rlhf::policy::TuneOrigin made{source.info, *source.state.tokenizer, form.stored()};
  made.settings = {{"reward.sources", c.rewards.sources},
                   {"data.prompts", about(c.prompts, prompts.all())}};
  if (held_out)
    made.settings["data.validation_prompts"] = about(c.validation_prompts, held_out->all());
  // The template has a comparison of its own.
  for (const auto& [key, value] : options.values())
    if (key == "sample.ban_special" || (key.starts_with("chat.") && key != "chat.template"))
      made.settings[key] = value;
  return made;
}

int tune_by_rewards(PpoCommand& c, Group& world, const Options& options) {
  rlhf::policy::TuneConfig& config = c.tune;
  const train::TrainedModel source = open_policy(c, world);
  config.run.model = source.model;
  settle(config);
  const text::StoredTokenizer& tokenizer = source.state.tokenizer;
  const text::ChatTemplate form = chat_template(c.chat, *tokenizer, source.state.notes);
  const int64_t room = source.model.context - config.generate.max_tokens;
  require(room > 0,
          "generate.max_tokens={} leaves no room for a prompt in the model's context of {}",
          config.generate.max_tokens, source.model.context);
  const auto read = [&](const char* option, const std::vector<std::string>& files) {
    return rlhf::policy::FilePrompts(conversations_config(c.chat, form, files, source.state.notes),
                                     option, form, room, config.run.train.seed);
  };
  const rlhf::policy::FilePrompts prompts = read("data.prompts", c.prompts);
  std::optional<rlhf::policy::FilePrompts> held_out;
  if (!c.validation_prompts.empty())
    held_out = read("data.validation_prompts", c.validation_prompts);
  const rlhf::policy::TuneOrigin origin = origin_of(c, source, form, prompts, held_out, options);
  if (config.run.run.dry_run) {
    const auto foreseen = rlhf::rewards::foresee_rewards(c.rewards, world);
    prompts.check(foreseen.rewards);
    if (held_out) held_out->check(foreseen.rewards);
    tell(look_ahead(config, {origin, prompts.all(), foreseen.models}, world), world);
    return static_cast<int>(ExitCode::done);
  }
  Mesh mesh(world, mesh_shape(config.run.parallel, world.size()));
  rlhf::rewards::RewardMixture rewards =
      make_rewards(c.rewards,
                   rlhf::rewards::PolicyText{tokenizer, form.stored(), config.generate.max_tokens,
                                             source.model.context},
                   config.run.parallel, config.run.precision(), config.generate.batch, mesh);
  prompts.check(rewards);
  if (held_out) held_out->check(rewards);
  rlhf::policy::Tuning tuning{origin, prompts, rewards, form.end()};
  tuning.banned =
      generate::banned_ids(*tokenizer, source.model.vocab_size, form.end(), c.ban_special);
  tuning.files = data::record_files(
      {{"data.prompts", c.prompts}, {"data.validation_prompts", c.validation_prompts}});
  if (held_out) tuning.held_out = &held_out->all();
  tuning.instructions = instruction_notes(source.state.notes);
  tuning.answer_text = [&form](const std::vector<int32_t>& tokens) {
    return form.answer_text(tokens);
  };
  const rlhf::policy::TuneResult result = tune(config, tuning, world, options.resolved());
  return code_of_run(result.stopped, result.committed);
}

int prove(const PpoCommand& c, Group& world, const Options& options) {
  const rlhf::oracle::OracleResult result = run_oracle(c.oracle, c.tune, world, options.resolved());
  if (result.stopped) return code_of_run(true, result.committed);
  if (world.rank() == 0) std::fputs(oracle_table(result.outcomes).c_str(), stdout);
  const bool passed = std::ranges::all_of(
      result.outcomes, [](const rlhf::oracle::OracleOutcome& one) { return one.passed(); });
  return static_cast<int>(passed ? ExitCode::done : ExitCode::failure);
}

// A minibatch that nobody gave becomes the largest up to its default that the answers of an
// iteration divide into, whatever the layout, unless that is less than half of it.
void fit_minibatch(Options& options, const rlhf::policy::TuneConfig& c) {
  const int64_t usual = c.run.train.global_batch, answers = c.ppo.rollout_batch;
  const int64_t fitting = answers > 0 && usual > 0 ? largest_divisor(answers, usual) : usual;
  // A much smaller one would learn otherwise; that it does not divide is told where it is checked.
  if (fitting != usual && 2 * fitting >= std::min(usual, answers))
    options.set("train.global_batch", std::to_string(fitting),
                fmt::format("divides ppo.rollout_batch={}", answers));
}

void settle_options(Options& options, PpoCommand& c) {
  const bool minibatch_given = options.given("train.global_batch");
  c.tune.run.train.micro_batch_open = !options.given("train.micro_batch");
  refuse_of_critic(options, c.tune);
  if (!c.oracle.language.empty()) {
    refuse_of_files(options);
    for (const auto& [key, value] : rlhf::oracle::oracle_defaults())
      if (!options.given(key)) options.set(key, value, "--oracle");
  }
  refuse_of_choices(options, c.tune);
  if (!minibatch_given) fit_minibatch(options, c.tune);
  settle_precision(options, "train.precision", c.tune.run.train.precision,
                   c.tune.run.parallel.device);
}

}  // namespace

int ppo_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  PpoCommand command;
  Options options("skein ppo",
                  "Tunes a policy by rewards of the answers it samples, with PPO, RLOO or GRPO; "
                  "--oracle proves that it reaches the optimum.");
  bind(options, command);
  if (!parse(options, args, false, [&] { settle_options(options, command); })) return 0;
  const train::PretrainConfig& run = command.tune.run;
  require(!run.run.dry_run || command.oracle.language.empty(),
          "run.dry_run is for one training run, and --oracle makes several");
  world = begin_run(run.run.dir,
                    command.oracle.language.empty() ? Folder::of_one_run : Folder::of_several);
  if (run.train.micro_batch_open)
    fit_micro_batch(options, run.parallel, run.train.global_batch, run.train.micro_batch, *world);
  return command.oracle.language.empty() ? tune_by_rewards(command, *world, options)
                                         : prove(command, *world, options);
}

}  // namespace skein::cli
