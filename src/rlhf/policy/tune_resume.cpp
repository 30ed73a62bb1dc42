#include "tune_resume.h"

#include "skein/core/error.h"
#include "skein/text/template.h"

namespace skein::rlhf::policy {
namespace {

void check_same_start(const TuneState& tuned, const TuneConfig& config, const TuneOrigin& origin,
                      const std::string& path) {
  // Sums came later than paths.
  require(tuned.start_sum ? tuned.start_sum == origin.start.sum : tuned.start == origin.start.path,
          "{} was tuned from {}, which is its reference still, but the weights that "
          "checkpoint.load names are others, {}; give the same, or another run.dir",
          path, tuned.start, origin.start.path);
  require(same_template(tuned.chat, origin.chat),
          "{} was tuned with another chat template; give the same, or another run.dir", path);
  require((tuned.ema > 0) == (config.ppo.ema > 0),
          "{} was tuned with ppo.ema={}, now it is {}: a running mean is of all steps or of none; "
          "give the same, or another run.dir",
          path, tuned.ema, config.ppo.ema);
}

std::string compare_settings(const TuneState& tuned, const TuneConfig& config,
                             const TuneOrigin& origin, const std::string& path) {
  std::string changes;
  for (const auto& [key, value] : tune_settings(config, origin.settings)) {
    const auto before = tuned.settings.find(key);
    if (before == tuned.settings.end() || before->second == value) continue;
    const bool counts = key == "ppo.rollout_batch" || key == "ppo.answers" || key == "ppo.epochs" ||
                        key == "train.global_batch";
    require(!counts && !origin.settings_stay,
            "{} was tuned with {}={}, now it is {}; give the same, or another run.dir", path, key,
            before->second, value);
    changes += fmt::format("\n  {}: {} -> {}", key, before->second, value);
  }
  return changes;
}

}  // namespace

train::PretrainConfig written_run(const TuneConfig& config) {
  train::PretrainConfig written = config.run;
  written.model = policy_model(config);
  return written;
}

std::string compare_with_own(const checkpoint::CheckpointInfo& own, const train::RunState& stored,
                             const TuneState& tuned, const TuneConfig& config,
                             const TuneOrigin& origin) {
  check_same_start(tuned, config, origin, own.path);
  const text::StoredTokenizer tokenizer(origin.tokenizer.to_json());
  return compare_with_stored(stored, written_run(config), tokenizer, own.path) +
         compare_settings(tuned, config, origin, own.path);
}

bool judged_as_before(const TuneState& tuned, const TuneConfig& config, const TuneOrigin& origin) {
  for (const auto& [key, value] : tune_settings(config, origin.settings))
    for (const char* section : {"reward.", "kl.beta", "sample.", "chat.", "generate.max_tokens",
                                "train.seed", "data.validation_prompts"}) {
      const auto before = tuned.settings.find(key);
      if (key.starts_with(section) && before != tuned.settings.end() && before->second != value)
        return false;
    }
  return true;
}

const TuneConfig& checked(const TuneConfig& config, const Tuning& tuning, int ranks) {
  check_start(config.run, ranks);
  require(tuning.held_out || config.run.validation.patience == 0,
          "validation.patience={} needs prompts to evaluate on, data.validation_prompts",
          config.run.validation.patience);
  return config;
}

}  // namespace skein::rlhf::policy
