#include <map>

#include "skein/core/error.h"
#include "skein/scaling/plan/plan.h"

namespace skein::scaling::plan {
namespace {

train::PretrainConfig run_of(const Plan& plan) {
  train::PretrainConfig run;
  run.model = plan.proposal.model;
  run.parallel = plan.layout.parallel;
  run.train.steps = plan.steps;
  run.train.global_batch = plan.layout.global_batch;
  run.train.micro_batch = plan.layout.micro_batch;
  run.lr.lr = plan.settings.lr;
  run.lr.min_lr = plan.settings.lr / 10;
  const double batch_tokens = plan.layout.global_batch * plan.proposal.model.context;
  run.lr.warmup = std::max<int64_t>(1, static_cast<int64_t>(plan.warmup_tokens / batch_tokens));
  run.lr.decay = train::LrConfig::Decay::cosine;
  run.validation.every = std::max<int64_t>(1, plan.steps / 50);
  run.checkpoint.every = std::max<int64_t>(1, plan.steps / 50);
  return run;
}

std::vector<std::pair<std::string, std::string>> values_of(train::PretrainConfig run) {
  Options options("skein pretrain", "");
  bind(options, run);
  return options.values();
}

}  // namespace

std::string plan_config(const Plan& plan) {
  require(plan.layout.fits, "plan.config cannot be written: {}", layout_problem(plan));
  std::string text =
      fmt::format("# {:.4g} FLOPs by {}: {:.4g} parameters, {:.4g} tokens, loss {:.4g} expected.\n",
                  plan.proposal.flops, plan.law.name, plan.proposal.counts.all,
                  plan.proposal.tokens, plan.proposal.loss.value);
  text += fmt::format("# Ranks: {}. Give data.train and data.validation.\n", plan.layout.devices());
  const auto defaults = values_of({}), chosen = values_of(run_of(plan));
  std::map<std::string, std::string> sections;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i].second == defaults[i].second) continue;
    const size_t dot = chosen[i].first.find('.');
    sections[chosen[i].first.substr(0, dot)] +=
        fmt::format("{} = {}\n", chosen[i].first.substr(dot + 1), chosen[i].second);
  }
  for (const auto& [section, lines] : sections) text += fmt::format("\n[{}]\n{}", section, lines);
  return text;
}

}  // namespace skein::scaling::plan
