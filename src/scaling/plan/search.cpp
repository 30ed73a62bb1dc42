#include "search.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"

namespace skein::scaling::plan {
namespace {

// Of the optimum's size: tables are most of a small model, and repeated data move the optimum.
constexpr double kSmallest = 1.0 / 512, kLargest = 16, kStep = 1.125;
constexpr double kMostTimes = 1000, kLogRange = 20;  // of the proposal's tokens

// Large models are divided over a host, whose devices are to have equally many heads.
constexpr double kDivided = 1e9;
constexpr int64_t kHeadsTogether = 8;

ShapeRule rule_for(double size, const PlanOptions& o) {
  ShapeRule rule;
  rule.d_head = o.d_head ? o.d_head : size >= 4e8 ? 128 : size >= 1e7 ? 64 : size >= 1e6 ? 32 : 16;
  rule.heads_together = size >= kDivided ? kHeadsTogether : 1;
  rule.aspect = o.aspect > 0 ? o.aspect : size >= 4e8 ? 100 : 64;
  rule.most_layers = 160;
  return rule;
}

double counted(const ModelCounts& counts, ParameterCount count) {
  if (count == ParameterCount::blocks) return counts.blocks;
  return count == ParameterCount::blocks_head ? counts.blocks + counts.head : counts.all;
}

}  // namespace

PlanSearch::PlanSearch(const PlanOptions& options, const PlanLaw& law, const Machine& machine,
                       double flops, double size)
    : options_(options),
      law_(law),
      machine_(machine),
      flops_(flops),
      size_(size),
      rule_(rule_for(size, options)) {}

std::optional<ModelConfig> PlanSearch::shape(double block_parameters) const {
  std::optional<ModelConfig> made;
  refusal_of([&] { made = shape_for(block_parameters, options_.model, rule_); });
  return made;
}

double PlanSearch::predict(const ChinchillaLaw& draw, double n, double d) const {
  if (law_.kaplan) return kaplan_loss(n, 6 * n * d);
  const double unique = options_.tokens;
  return unique > 0 ? DataLimitedLaw{draw, law_.r_d, law_.r_n}.loss(n, d, std::min(d, unique))
                    : draw.loss(n, d);
}

Proposal PlanSearch::untrained(const ModelConfig& model) const {
  Proposal made;
  made.model = model;
  made.counts = counts_of(model);
  made.n = counted(made.counts, law_.convention.parameters);
  return made;
}

Proposal PlanSearch::trained(const ModelConfig& model, double tokens) const {
  Proposal made = untrained(model);
  made.tokens = tokens;
  made.flops = tokens * made.counts.flops_per_token;
  made.epochs = options_.tokens > 0 ? std::max(1.0, tokens / options_.tokens) : 1;
  made.loss = fit::band(law_.fit.law, law_.fit.draws, [&](const ChinchillaLaw& draw) {
    return predict(draw, made.n, made.tokens);
  });
  made.cost = cost_of(made.flops, machine_);
  return made;
}

Proposal PlanSearch::spent(const ModelConfig& model) const {
  Proposal made = trained(model, flops_ / counts_of(model).flops_per_token);
  made.flops = flops_;
  return made;
}

Proposal PlanSearch::trained(const ModelConfig& model, double tokens,
                             const Proposal& proposal) const {
  Proposal made = trained(model, tokens);
  made.penalty = fit::band(law_.fit.law, law_.fit.draws, [&](const ChinchillaLaw& draw) {
    return predict(draw, made.n, made.tokens) - predict(draw, proposal.n, proposal.tokens);
  });
  return made;
}

double PlanSearch::badness(const Proposal& p) const {
  return law_.kaplan ? std::abs(std::log(p.n / size_)) : predict(law_.fit.law, p.n, p.tokens);
}

Proposal PlanSearch::best() const {
  std::optional<Proposal> best;
  for (double blocks = kSmallest * size_; blocks <= kLargest * size_; blocks *= kStep) {
    const auto model = shape(blocks);
    if (!model) continue;
    Proposal one = untrained(*model);
    one.tokens = flops_ / one.counts.flops_per_token;
    if (!best || badness(one) < badness(*best)) best = one;
  }
  require(best.has_value(),
          "no shape whose width is a multiple of {} is near the {:.4g} parameters that the law "
          "wants for {:.4g} FLOPs; change plan.d_head",
          rule_.d_head * rule_.heads_together, size_, flops_);
  return spent(best->model);
}

double PlanSearch::tokens_for(const ChinchillaLaw& draw, double n, double loss, double most) const {
  double low = std::log(most) - kLogRange, high = std::log(most);
  if (predict(draw, n, most) > loss) return most;
  while (high - low > 1e-12 * high) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (predict(draw, n, std::exp(middle)) > loss ? low : high) = middle;
  }
  return std::exp(high);
}

Proposal PlanSearch::matching(const ModelConfig& model, const Proposal& proposal) const {
  const double n = untrained(model).n, most = kMostTimes * proposal.tokens;
  fit::Interval tokens = fit::band(law_.fit.law, law_.fit.draws, [&](const ChinchillaLaw& draw) {
    return tokens_for(draw, n, predict(draw, proposal.n, proposal.tokens), most);
  });
  for (double* one : {&tokens.value, &tokens.low, &tokens.high})
    if (*one >= most) *one = kUnknown;
  Proposal made =
      std::isnan(tokens.value) ? untrained(model) : trained(model, tokens.value, proposal);
  made.tokens_needed = tokens;
  return made;
}

}  // namespace skein::scaling::plan
