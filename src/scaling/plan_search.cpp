#include "plan_search.h"

#include <cmath>

#include "skein/core/error.h"

namespace skein {
namespace {

// Of the optimum's size: tables are most of a small model, and repeated data move the optimum.
constexpr double kSmallest = 1.0 / 512, kLargest = 16, kStep = 1.125;

// Large models are divided over a host, whose devices are to have equally many heads.
int64_t heads_together(double size) { return size >= 5e9 ? 8 : size >= 1e9 ? 4 : 1; }

ShapeRule rule_for(double size, const PlanOptions& o) {
  ShapeRule rule;
  rule.d_head = o.d_head ? o.d_head : size >= 4e8 ? 128 : size >= 1e7 ? 64 : size >= 1e6 ? 32 : 16;
  rule.d_head *= heads_together(size);
  rule.aspect = o.aspect > 0 ? o.aspect : size >= 4e8 ? 100 : 64;
  rule.most_layers = 160;
  return rule;
}

double counted(const ModelCounts& counts, ParameterCount count) {
  switch (count) {
    case ParameterCount::blocks: return counts.blocks;
    case ParameterCount::blocks_head: return counts.blocks + counts.head;
    case ParameterCount::given:
    case ParameterCount::all: return counts.all;
  }
  return kUnknown;
}

}  // namespace

Interval plan_band(const PlanLaw& law, const std::function<double(const ChinchillaLaw&)>& quantity) {
  if (law.fit.draws.empty()) return {quantity(law.fit.law), kUnknown, kUnknown, kUnknown};
  return band(law.fit.law, law.fit.draws, quantity);
}

PlanSearch::PlanSearch(const PlanOptions& options, const PlanLaw& law, double flops, double size)
    : options_(options), law_(law), flops_(flops), size_(size), rule_(rule_for(size, options)) {}

std::optional<ModelConfig> PlanSearch::shape(double block_parameters) const {
  try {
    const ModelConfig made = shape_for(block_parameters, options_.model, rule_);
    return with_shape(options_.model, made.n_layers, made.d_model, rule_.d_head / heads_together(size_));
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    return std::nullopt;
  }
}

double PlanSearch::predict(const ChinchillaLaw& draw, double n, double d) const {
  if (law_.kaplan) return kaplan_loss(n, 6 * n * d);
  const double unique = options_.tokens;
  return unique > 0 && d > unique ? DataLimitedLaw{draw}.loss(n, d, unique) : draw.loss(n, d);
}

Proposal PlanSearch::spent(const ModelConfig& model) const {
  Proposal made;
  made.model = model;
  made.counts = counts_of(model);
  made.n = counted(made.counts, law_.convention.parameters);
  made.flops = flops_;
  made.tokens = flops_ / made.counts.flops_per_token;
  made.epochs = options_.tokens > 0 ? std::max(1.0, made.tokens / options_.tokens) : 1;
  made.loss = plan_band(law_, [&](const ChinchillaLaw& draw) { return predict(draw, made.n, made.tokens); });
  return made;
}

double PlanSearch::badness(const Proposal& p) const {
  return law_.kaplan ? std::abs(std::log(p.n / size_)) : predict(law_.fit.law, p.n, p.tokens);
}

Proposal PlanSearch::best() const {
  std::optional<Proposal> best;
  Proposal one;
  for (double blocks = kSmallest * size_; blocks <= kLargest * size_; blocks *= kStep) {
    const auto model = shape(blocks);
    if (!model) continue;
    one.model = *model;
    one.counts = counts_of(*model);
    one.n = counted(one.counts, law_.convention.parameters);
    one.tokens = flops_ / one.counts.flops_per_token;
    if (!best || badness(one) < badness(*best)) best = one;
  }
  require(best.has_value(), "no shape whose width is a multiple of {} is near the {:.4g} parameters that the law wants for {:.4g} FLOPs; change plan.d_head",
          rule_.d_head, size_, flops_);
  return spent(best->model);
}

Interval PlanSearch::penalty(const Proposal& other, const Proposal& proposal) const {
  return plan_band(law_, [&](const ChinchillaLaw& draw) { return predict(draw, other.n, other.tokens) - predict(draw, proposal.n, proposal.tokens); });
}

double PlanSearch::tokens_for(const Proposal& proposal, double loss) const {
  const auto above = [&](double tokens) { return predict(law_.fit.law, proposal.n, tokens) > loss; };
  double low = std::log(proposal.tokens * 1e-3), high = std::log(proposal.tokens * 1e3);
  if (above(std::exp(high)) || !above(std::exp(low))) return kUnknown;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (above(std::exp(middle)) ? low : high) = middle;
  }
  return std::exp(high);
}

}  // namespace skein
