#include "skein/train/tasks/adapting.h"

#include <algorithm>
#include <cmath>

#include "skein/core/log.h"
#include "skein/models/architecture.h"

namespace skein::train {
namespace {

constexpr double kMostSteps = 1e12;

int64_t whole_steps(double steps) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(std::min(steps, kMostSteps))));
}

int64_t steps_of(const Passes& passes, double steps_a_pass) {
  require(std::isfinite(passes.count) && passes.count > 0, "{}={} must be above 0", passes.option,
          passes.count);
  const double steps = std::ceil(passes.count * steps_a_pass);
  require(steps <= kMostSteps, "{}={} are {:.3g} steps; at most {:.0e} can be made", passes.option,
          passes.count, steps, kMostSteps);
  return whole_steps(steps);
}

}  // namespace

void fill_in(PretrainConfig& c, const Passes& passes) {
  const double steps_a_pass = static_cast<double>(passes.samples) /
                              static_cast<double>(std::max<int64_t>(1, c.train.global_batch));
  if (c.train.steps == 0) c.train.steps = steps_of(passes, steps_a_pass);
  if (c.validation.every < 0) c.validation.every = whole_steps(steps_a_pass / passes.evaluations);
}

void fill_in_warmup(PretrainConfig& c, int64_t percent) {
  if (c.lr.warmup < 0) c.lr.warmup = std::max<int64_t>(1, c.train.steps * percent / 100);
}

void fill_in_finetuning(PretrainConfig& c, double epochs, int64_t samples) {
  fill_in(c, {"task.epochs", epochs, samples});
  fill_in_warmup(c, 10);
  if (c.lr.decay == LrConfig::Decay::automatic) c.lr.decay = LrConfig::Decay::linear;
}

void require_one_way(const ModelConfig& model, const std::string& task) {
  require(
      !model.architecture->reads_prompts_both_ways(model),
      "the model to begin from was trained with lm.prefix and reads prompts in both directions; "
      "{} learns answers to prompts that are read in one: begin from a model without it",
      task);
}

void require_scored_as_drawn(const ModelConfig& model, const std::string& task) {
  require(!model.attention.has(SightKind::lsh) || model.attention.other.same_bucket,
          "the model to begin from has attention.kind=lsh with attention.same_bucket=false, where "
          "the probability of a token hangs on what follows it; {} would score answers by another "
          "distribution than they are drawn from: begin from a model with "
          "attention.same_bucket=true",
          task);
}

void require_run_of(const std::string& kind, bool is_one, const std::string& origin) {
  require(is_one, "{} is no run of {}; give another run.dir", origin, kind);
}

void require_unchanged(const text::StoredTemplate& before, const text::StoredTemplate& now,
                       const std::string& origin) {
  require(same_template(before, now),
          "{} was trained with another chat template; give the same chat.template, or another "
          "run.dir to begin anew",
          origin);
}

void warn_of_other_samples(const std::string& origin, const std::string& called) {
  log::warn(
      "the training {} are not those that {} was trained on; the run goes on with the new ones",
      called, origin);
}

}  // namespace skein::train
