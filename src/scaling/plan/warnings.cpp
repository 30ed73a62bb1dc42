#include "warnings.h"

#include <cmath>

#include "settings.h"

namespace skein::scaling::plan {
namespace {

constexpr double kFarBeyond = 10, kFewPasses = 4, kSmallModel = 1e7;

void warn_of_law(Plan& plan) {
  const PlanLaw& law = plan.law;
  if (law.convention.parameters == ParameterCount::given)
    plan_warning(
        plan,
        "the fit does not say what its parameters count; all of the model's are taken for them");
  if (std::isnan(law.largest_flops))
    plan_warning(
        plan,
        "the law does not say how large its runs were, nor so how far the budget lies beyond them");
  if (plan.beyond > kFarBeyond)
    plan_warning(plan,
                 "the budget is {:.3g} times the largest run that the law was fitted to ({:.3g} "
                 "FLOPs): beyond one decade a law is a guess",
                 plan.beyond, law.largest_flops);
  if (law.kaplan)
    plan_warning(plan,
                 "N* is Kaplan's rule as fitted to his runs; the losses are of his L(N, S), whose "
                 "own optimum grows as C^.68: smaller models can look better there");
  const int64_t own = law.trained_with ? law.trained_with->vocab_size : 0,
                wanted = plan.options.model.vocab_size;
  if (own > 0 && own != wanted)
    plan_warning(
        plan,
        "the law is of runs with a vocabulary of {} ids, and model.vocab_size={}: its losses are a "
        "token of theirs, and so are E, A, B and what is best; it says nothing of another "
        "tokenizer. Give model.vocab_size={}, or sweep with the new one",
        own, wanted, own);
  const auto ids = static_cast<double>(own > 0 ? own : wanted);
  if (const double loss = plan.proposal.loss.value; loss >= std::log(ids))
    plan_warning(
        plan,
        "a loss of {:.4g} nats is no better than guessing among {} ids ({:.4g}): the budget "
        "is far below the runs that the law was fitted to, and it says nothing of so small "
        "ones",
        loss, ids, std::log(ids));
  if (law.fit.draws.empty())
    plan_warning(plan,
                 "the law is one point without intervals; `skein fit` of your own runs gives them");
}

void warn_of_data(Plan& plan) {
  const double unique = plan.options.tokens;
  const Proposal& p = plan.proposal;
  if (unique == 0 || p.tokens <= unique) return;
  if (plan.law.kaplan)
    return plan_warning(
        plan, "{:.3g} tokens are {:.3g} passes over {:.3g}, which Kaplan's law does not know of",
        p.tokens, p.epochs, unique);
  plan_warning(plan,
               "{:.3g} tokens are {:.3g} passes over {:.3g}: worth less than new ones, by "
               "Muennighoff's formula ({}){}",
               p.tokens, p.epochs, unique, plan.law.repeats,
               p.epochs > kFewPasses ? ", and clearly so beyond 4 passes" : "");
}

void warn_of_machine(Plan& plan) {
  const int64_t count = plan.options.machine.count, at_work = plan.layout.devices();
  if (at_work < count)
    plan_warning(
        plan,
        "machine.count={}: {} devices have nothing to do. Ranks are tensor-parallel ones, a power "
        "of two, times at most {} pipeline stages, one a layer, times data-parallel ones; {} "
        "devices lose the least time, and run time and cost are theirs",
        count, count - at_work, plan.proposal.model.n_layers, at_work);
  if (!plan.layout.fits) plan_warning(plan, "{}", layout_problem(plan));
}

void warn_of_run(Plan& plan) {
  const Proposal& p = plan.proposal;
  const double by_law =
      plan.law.flops_per_token.coefficient * std::pow(p.n, plan.law.flops_per_token.exponent);
  if (std::abs(p.counts.flops_per_token / by_law - 1) > 0.2)
    plan_warning(plan,
                 "this model takes {:.4g} FLOPs a token, where the law counts {:.4g}: attention "
                 "and head are no small part of it",
                 p.counts.flops_per_token, by_law);
  if (p.counts.blocks < kSmallModel && plan.options.lr_rule != kRuleOfFit)
    plan_warning(plan,
                 "the rules for learning rate and batch were found on models of {:.0e} block "
                 "parameters and more, this one has {:.3g}: try a few around {:.3g}",
                 kSmallModel, p.counts.blocks, plan.settings.lr);
}

}  // namespace

void warn_of_plan(Plan& plan) {
  warn_of_law(plan);
  warn_of_data(plan);
  warn_of_run(plan);
  warn_of_machine(plan);
}

}  // namespace skein::scaling::plan
