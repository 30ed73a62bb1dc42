#include "skein/rlhf/rewards/preference_files.h"
#include "skein/rlhf/rewards/reward_task.h"

namespace skein::rlhf::rewards {

RewardConfig reward_defaults() {
  return {train::adapting_defaults({"runs/reward", 32, 9e-6, train::LrConfig::Decay::cosine}), {}};
}

namespace {

void bind_task(Options& options, RewardTaskConfig& c) {
  options.add("reward.margin", c.loss.margin,
              "by so many times the difference of their grades a better answer should score "
              "higher; 0: no margin");
  options.add("reward.centring", c.loss.centring,
              "factor of the mean of (r+ + r-)^2 in the loss, such as 0.01");
  options.add("reward.epochs", c.epochs, "passes over data.train, where train.steps is 0");
  options.add("reward.reference_samples", c.reference_samples,
              "answers whose scores get mean 0 and deviation 1; 0: scores stay as they are");
}

}  // namespace

void bind(Options& options, RewardConfig& c) {
  options.add("data.train", c.run.data.train,
              "JSONL files of preferences to learn (docs/reward.md), plain, .gz, .xz or .zst");
  options.add("data.validation", c.run.data.validation,
              "JSONL files of preferences to evaluate on");
  options.add("data.reference", c.task.reference,
              "JSONL files of prompts with good answers, whose scores are the origin; empty: the "
              "better answers of data.train");
  bind(options, c.task, "reward");
  bind_task(options, c.task);
  bind_adapting(options, c.run);
}

}  // namespace skein::rlhf::rewards
