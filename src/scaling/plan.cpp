#include "skein/scaling/plan.h"

#include <cmath>

#include "plan_search.h"
#include "skein/core/error.h"

namespace skein {
namespace {

constexpr double kOtherSizes[] = {0.25, 0.5, 2, 4};
constexpr double kFarBeyond = 10, kFewPasses = 4, kFewSteps = 100, kSmallModel = 1e7;

template <class... Args>
void warn(Plan& plan, fmt::format_string<Args...> text, Args&&... args) {
  plan.warnings.push_back(fmt::format(text, std::forward<Args>(args)...));
}

Machine checked_machine(const PlanOptions& o) {
  Machine machine = settled(o.machine);
  require(o.gpu_hours == 0 || machine.peak > 0, "plan.gpu_hours={} needs to know how fast a device is: give machine.kind or machine.peak",
          o.gpu_hours);
  return machine;
}

double flops_of_budget(const PlanOptions& o) {
  require((o.budget > 0) != (o.gpu_hours > 0), "give one budget: plan.budget in FLOPs or plan.gpu_hours, not {}", o.budget > 0 ? "both" : "none");
  const double flops = o.budget > 0 ? o.budget : o.gpu_hours * 3600 * o.machine.peak * o.machine.share;
  require(std::isfinite(flops) && flops >= 1e6 && flops <= 1e32, "a budget of {} FLOPs cannot be planned for; it is 1e6 to 1e32", flops);
  return flops;
}

void check(const PlanOptions& o) {
  require(std::isfinite(o.tokens) && o.tokens >= 0, "plan.tokens={} must be a number of at least 0", o.tokens);
  require(o.model.vocab_size > 0, "model.vocab_size={}; a plan needs the number of ids", o.model.vocab_size);
  require(o.model.architecture == Architecture::gpt, "model.architecture=bert: these laws are of decoders");
  require(o.d_head >= 0 && std::isfinite(o.aspect) && o.aspect >= 0, "plan.d_head={} and plan.aspect={} must be at least 0", o.d_head, o.aspect);
}

PlanLaw law_of(const PlanOptions& o) { return o.fit.empty() ? published_plan_law(o.law) : fitted_plan_law(o.fit); }

double kaplan_size(double flops) {
  constexpr double kDay = 8.64e19;  // FLOPs of a PF-day
  return 1.3e9 * std::pow(flops / kDay, 0.73);
}

void find_best(Plan& plan) {
  const PlanLaw& law = plan.law;
  if (law.kaplan) {
    plan.best_n.value = kaplan_size(plan.flops);
    plan.best_d.value = plan.flops / (6 * plan.best_n.value);
    plan.best_ratio.value = plan.best_d.value / plan.best_n.value;
    plan.best_loss.value = kaplan_loss(plan.best_n.value, plan.flops);
    return;
  }
  const auto of = [&](double (*part)(const Optimum&)) {
    return plan_band(law, [&](const ChinchillaLaw& draw) { return part(optimum_at(draw, plan.flops, law.flops_per_token)); });
  };
  plan.best_n = of([](const Optimum& best) { return best.n; });
  plan.best_d = of([](const Optimum& best) { return best.d; });
  plan.best_ratio = of([](const Optimum& best) { return best.ratio(); });
  plan.best_loss = of([](const Optimum& best) { return best.loss; });
}

void find_others(Plan& plan, const PlanSearch& search) {
  for (const double factor : kOtherSizes) {
    const auto shape = search.shape(factor * plan.proposal.counts.blocks);
    if (!shape) continue;
    Proposal other = search.spent(*shape);
    other.penalty = search.penalty(other, plan.proposal);
    other.tokens_to_match = search.tokens_for(other, plan.proposal.loss.value);
    plan.others.push_back(other);
  }
}

// The batch follows the tokens, the layout the batch, and the steps both.
void settle_run(Plan& plan) {
  const PlanOptions& o = plan.options;
  Proposal& p = plan.proposal;
  plan.settings.lr = hyperparameters(o.lr_rule, p.counts, p.tokens).lr;
  plan.settings.batch_tokens = hyperparameters(o.batch_rule, p.counts, p.tokens).batch_tokens;
  require(plan.settings.batch_tokens > 0, "plan.batch_rule={} says nothing of the batch; take porian, deepseek or step_law", o.batch_rule);
  if (p.tokens / plan.settings.batch_tokens < kFewSteps) {
    warn(plan, "the batch of {} would leave {:.0f} steps; it is cut for {:.0f}", o.batch_rule, p.tokens / plan.settings.batch_tokens, kFewSteps);
    plan.settings.batch_tokens = p.tokens / kFewSteps;
  }
  plan.layout = lay_out(p.model, o.machine, plan.settings.batch_tokens);
  const double batch = static_cast<double>(plan.layout.global_batch * p.model.context);
  if (batch > 1.5 * plan.settings.batch_tokens || batch < plan.settings.batch_tokens / 1.5)
    warn(plan, "batches are {:.4g} tokens, not the {:.4g} of {}: every one of {} data-parallel ranks needs whole sequences", batch, plan.settings.batch_tokens,
         o.batch_rule, plan.layout.parallel.data);
  plan.steps = std::max<int64_t>(1, std::llround(p.tokens / batch));
  plan.warmup_tokens = std::min(p.counts.all, 0.05 * p.tokens);
}

Interval over(double amount, const Machine& m) { return {amount / m.share, amount / m.high(), amount / m.low(), kUnknown}; }

Interval times(const Interval& x, double factor) { return {x.value * factor, x.low * factor, x.high * factor, kUnknown}; }

void find_cost(Plan& plan) {
  const Machine& m = plan.options.machine;
  if (m.peak <= 0) return;
  const double devices = static_cast<double>(m.count);
  Cost& cost = plan.cost;
  cost.seconds = over(plan.proposal.flops / (devices * m.peak), m);
  cost.device_hours = times(cost.seconds, devices / 3600);
  if (m.price > 0) cost.price = times(cost.device_hours, m.price);
  if (m.watts > 0) cost.kwh = times(cost.device_hours, m.watts * m.pue / 1000);
  if (m.watts > 0 && m.carbon > 0) cost.co2_kg = times(cost.kwh, m.carbon / 1000);
}

void warn_of_law(Plan& plan) {
  const PlanLaw& law = plan.law;
  if (!law.fit.convergence.converged) warn(plan, "the fit in {} has not converged: {}", law.name, law.fit.convergence.problem);
  if (law.convention.parameters == ParameterCount::given)
    warn(plan, "the fit does not say what its parameters count; all of the model's are taken for them");
  if (std::isnan(law.largest_flops)) warn(plan, "the law does not say how large its runs were, nor so how far the budget lies beyond them");
  if (plan.beyond > kFarBeyond)
    warn(plan, "the budget is {:.3g} times the largest run that the law was fitted to ({:.3g} FLOPs): beyond one decade a law is a guess", plan.beyond,
         law.largest_flops);
  if (law.kaplan)
    warn(plan, "N* is Kaplan's rule as fitted to his runs; the losses are of his L(N, S), whose own optimum grows as C^.68: smaller models can look "
               "better there");
  if (law.fit.draws.empty()) warn(plan, "the law is one point without intervals; `skein fit` of your own runs gives them");
}

void warn_of_data(Plan& plan) {
  const double unique = plan.options.tokens;
  const Proposal& p = plan.proposal;
  if (unique == 0 || p.tokens <= unique) return;
  if (plan.law.kaplan) return warn(plan, "{:.3g} tokens are {:.3g} passes over {:.3g}, which Kaplan's law does not know of", p.tokens, p.epochs, unique);
  warn(plan, "{:.3g} tokens are {:.3g} passes over {:.3g}: worth less than new ones, by Muennighoff's formula (R_D 15.39, R_N 5.31){}", p.tokens, p.epochs,
       unique, p.epochs > kFewPasses ? ", and clearly so beyond 4 passes" : "");
}

void warn_of_run(Plan& plan) {
  const Proposal& p = plan.proposal;
  const double by_law = plan.law.flops_per_token.coefficient * std::pow(p.n, plan.law.flops_per_token.exponent);
  if (std::abs(p.counts.flops_per_token / by_law - 1) > 0.2)
    warn(plan, "this model takes {:.4g} FLOPs a token, where the law counts {:.4g}: attention and head are no small part of it", p.counts.flops_per_token,
         by_law);
  if (p.counts.blocks < kSmallModel)
    warn(plan, "the rules for learning rate and batch were found on models of {:.0e} block parameters and more, this one has {:.3g}: try a few around {:.3g}",
         kSmallModel, p.counts.blocks, plan.settings.lr);
  if (!plan.layout.fits) warn(plan, "{}", layout_problem(plan));
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
  return fmt::format("no layout fits: the best needs {:.1f} GiB on each of {} devices, of whose {:.1f} GiB nine tenths can be used; take more of them or "
                     "larger ones", plan.layout.bytes / (1 << 30), plan.options.machine.count, plan.options.machine.memory);
}

Plan make_plan(const PlanOptions& options) {
  Plan plan;
  plan.options = options;
  check(options);
  plan.options.machine = checked_machine(options);
  plan.law = law_of(options);
  plan.flops = flops_of_budget(plan.options);
  plan.beyond = plan.flops / plan.law.largest_flops;
  find_best(plan);
  const PlanSearch search(plan.options, plan.law, plan.flops, plan.best_n.value);
  plan.proposal = search.best();
  plan.proposal.penalty.value = 0;
  plan.proposal.tokens_to_match = plan.proposal.tokens;
  warn_of_law(plan);
  warn_of_data(plan);
  settle_run(plan);
  find_others(plan, search);
  warn_of_run(plan);
  find_cost(plan);
  return plan;
}

}  // namespace skein
