#include "skein/scaling/plan/plan.h"

#include <cmath>

#include "skein/core/error.h"
#include "skein/models/architecture.h"
#include "skein/scaling/fit/isoflop.h"

#include "budget.h"
#include "search.h"
#include "settings.h"
#include "warnings.h"

namespace skein::scaling::plan {
namespace {

constexpr double kOtherSizes[] = {0.25, 0.5, 2, 4};
constexpr double kFewSteps = 100;
constexpr int64_t kMostOfModel = 1'000'000'000, kMostOfHead = 65'536;

Machine checked_machine(const PlanOptions& o) {
  Machine machine = settled(o.machine);
  require(o.gpu_hours == 0 || machine.peak > 0,
          "a budget of {} device hours needs to know how fast a device is: give machine.kind or "
          "machine.peak",
          o.gpu_hours);
  return machine;
}

void check(const PlanOptions& o) {
  require(std::isfinite(o.tokens) && o.tokens >= 0, "plan.tokens={} must be a number of at least 0",
          o.tokens);
  require(o.model.vocab_size > 0, "model.vocab_size={}; a plan needs the number of ids",
          o.model.vocab_size);
  require(o.model.architecture->continues_text(o.model),
          "model.architecture={}: these laws are of decoders", o.model.architecture->name());
  require(o.model.d_model <= 0 || o.model.d_ff / o.model.d_model < kMostOfHead,
          "model.d_ff={} is more than {} times model.d_model={}", o.model.d_ff, kMostOfHead,
          o.model.d_model);
  skein::check(o.model, 1, false);
  require(o.model.vocab_size <= kMostOfModel && o.model.context <= kMostOfModel,
          "model.vocab_size={} and model.context={} must be at most {}", o.model.vocab_size,
          o.model.context, kMostOfModel);
  require(
      o.train_tokens == 0 || (o.model.n_layers > 0 && o.model.d_model > 0),
      "plan.train_tokens={:.4g} are of a given model; give its model.n_layers, model.d_model and "
      "model.n_heads, or a file of them by --config",
      o.train_tokens);
  require(o.d_head >= 0 && o.d_head <= kMostOfHead && o.aspect >= 0 && o.aspect <= kMostOfHead,
          "plan.d_head={} and plan.aspect={} must lie between 0 and {}", o.d_head, o.aspect,
          kMostOfHead);
}

Optimum kaplan_optimum(double flops) {
  constexpr double kDay = 8.64e19;  // FLOPs of a PF-day
  const double size = 1.3e9 * std::pow(flops / kDay, 0.73);
  return {size, flops / (6 * size), kaplan_loss(size, flops)};
}

// By one of the law's draws; Kaplan's has none.
Optimum optimum_of(const PlanLaw& law, const ChinchillaLaw& draw, double flops) {
  return law.kaplan ? kaplan_optimum(flops) : fit::efficient(draw, flops, law.flops_per_token);
}

void find_best(Plan& plan) {
  const auto of = [&](double (*part)(const Optimum&)) {
    return fit::band(plan.law.fit.law, plan.law.fit.draws, [&](const ChinchillaLaw& draw) {
      return part(optimum_of(plan.law, draw, plan.flops));
    });
  };
  plan.best_n = of([](const Optimum& best) { return best.n; });
  plan.best_d = of([](const Optimum& best) { return best.d; });
  plan.best_ratio = of([](const Optimum& best) { return best.ratio(); });
  plan.best_loss = of([](const Optimum& best) { return best.loss; });
}

void find_other_laws(Plan& plan) {
  for (const PublishedLaw& published : published_laws()) {
    if (published.name == plan.law.name) continue;
    const PlanLaw law = published_plan_law(published.name);
    plan.other_laws.push_back(
        {law.name, law.convention.parameters, optimum_of(law, law.fit.law, plan.flops)});
  }
}

bool same_shape(const ModelConfig& one, const ModelConfig& other) {
  return one.n_layers == other.n_layers && one.d_model == other.d_model;
}

void find_other_sizes(Plan& plan, const PlanSearch& search) {
  for (const double factor : kOtherSizes) {
    const auto shape = search.shape(factor * plan.proposal.counts.blocks);
    if (!shape || same_shape(*shape, plan.proposal.model)) continue;
    if (!plan.same_flops.empty() && same_shape(*shape, plan.same_flops.back().model)) continue;
    plan.same_flops.push_back(search.trained(*shape, search.spent(*shape).tokens, plan.proposal));
    plan.same_loss.push_back(search.matching(*shape, plan.proposal));
    plan.same_tokens.push_back(search.trained(*shape, plan.proposal.tokens, plan.proposal));
  }
}

// What the others make of the same model on the same tokens; Kaplan's knows no large ones.
void find_other_rules(Plan& plan) {
  const PlanOptions& o = plan.options;
  for (const std::string& rule : hyperparameter_rules()) {
    if (rule == o.lr_rule && rule == o.batch_rule) continue;
    RuleSettings other{rule, {}};
    const std::string refused = refusal_of([&] {
      other.settings = hyperparameters(rule, plan.proposal.counts, plan.proposal.tokens);
    });
    if (refused.empty()) plan.other_rules.push_back(other);
  }
}

// The batch follows the tokens, the layout the batch, and the steps both.
void settle_run(Plan& plan) {
  const PlanOptions& o = plan.options;
  Proposal& p = plan.proposal;
  settle_settings(plan);
  if (p.tokens / plan.settings.batch_tokens < kFewSteps) {
    plan_warning(plan, "the batch of {} would leave {:.0f} steps; it is cut for {:.0f}",
                 plan.batch_origin, p.tokens / plan.settings.batch_tokens, kFewSteps);
    plan.settings.batch_tokens = p.tokens / kFewSteps;
  }
  plan.layout = lay_out(p.model, o.machine, plan.settings.batch_tokens);
  plan.machine.count = plan.layout.devices();
  p.cost = cost_of(p.flops, plan.machine);
  const double batch = plan.layout.global_batch * p.model.context;
  if (batch > kOtherBatch * plan.settings.batch_tokens ||
      batch < plan.settings.batch_tokens / kOtherBatch)
    plan_warning(plan,
                 "batches are {:.4g} tokens, not the {:.4g} of {}: every one of {} data-parallel "
                 "ranks needs whole sequences",
                 batch, plan.settings.batch_tokens, plan.batch_origin, plan.layout.parallel.data);
  plan.steps = std::max<int64_t>(1, std::llround(p.tokens / batch));
  plan.warmup_tokens = std::min(p.counts.all, 0.05 * p.tokens);
}

}  // namespace

PlanOptions plan_defaults() {
  PlanOptions o;
  o.model.vocab_size = 32'000;
  o.model.context = 2048;
  o.model.positions = Positions::rotary;
  o.model.norm = ops::Norm::rms;
  o.model.bias = false;
  return o;
}

std::string layout_problem(const Plan& plan) {
  if (plan.layout.fits) return "";
  return fmt::format(
      "no layout fits: the best needs {:.1f} GiB on each of {} devices, of whose {:.1f} GiB nine "
      "tenths can be used; take more of them or larger ones",
      plan.layout.bytes() / (1 << 30), plan.layout.devices(), plan.options.machine.memory);
}

Plan make_plan(const PlanOptions& options) {
  Plan plan;
  plan.options = with_budget(options);
  check(plan.options);
  if (options.train_tokens > 0) plan.options.d_head = options.model.head_width();
  plan.options.machine = checked_machine(plan.options);
  plan.law = options.fit.empty() ? published_plan_law(options.law) : fitted_plan_law(options.fit);
  settle_rules(plan);
  plan.flops = flops_of_budget(plan.options);
  plan.beyond = plan.flops / plan.law.largest_flops;
  find_best(plan);
  plan.machine = plan.options.machine;
  const PlanSearch search(plan.options, plan.law, plan.machine, plan.flops, plan.best_n.value);
  plan.proposal = options.train_tokens > 0 ? search.given() : search.best();
  plan.proposal.penalty.value = 0;
  settle_run(plan);
  find_other_sizes(plan, search);
  find_other_rules(plan);
  find_other_laws(plan);
  warn_of_plan(plan);
  return plan;
}

}  // namespace skein::scaling::plan
