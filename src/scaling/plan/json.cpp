#include "skein/core/json.h"

#include "skein/core/version.h"
#include "skein/scaling/plan/plan.h"

#include "scaling/study/names.h"
#include "search.h"

namespace skein::scaling::plan {
namespace {

using OrderedJson = nlohmann::ordered_json;  // which writes null for what is not finite

OrderedJson positive(double value) { return value > 0 ? OrderedJson(value) : OrderedJson(nullptr); }

OrderedJson json_of(const fit::Interval& x) {
  return {{"value", x.value}, {"low", x.low}, {"high", x.high}};
}

OrderedJson json_of(const PlanLaw& law) {
  return {{"name", law.name},
          {"source", law.source},
          {"parameters", study::name_of(law.convention.parameters)},
          {"flops", study::name_of(law.convention.flops)},
          {"flops_per_token",
           {{"coefficient", law.flops_per_token.coefficient},
            {"exponent", law.flops_per_token.exponent}}},
          {"n_exponent", json_of(law.n_exponent)},
          {"intervals", law.intervals},
          {"draws", law.fit.draws.size()},
          {"largest_flops", law.largest_flops},
          {"r_d", law.r_d},
          {"r_n", law.r_n},
          {"repeats", law.repeats},
          {"vocab_size", law.trained_with && law.trained_with->vocab_size > 0
                             ? OrderedJson(law.trained_with->vocab_size)
                             : OrderedJson(nullptr)}};
}

OrderedJson json_of(const Machine& m) {
  return {{"kind", m.kind.empty() ? OrderedJson(nullptr) : OrderedJson(m.kind)},
          {"count", m.count},
          {"peak", positive(m.peak)},
          {"share", m.share},
          {"share_low", m.low()},
          {"share_high", m.high()},
          {"memory_gib", positive(m.memory)},
          {"price", positive(m.price)},
          {"watts", positive(m.watts)},
          {"pue", m.pue},
          {"carbon", positive(m.carbon)}};
}

OrderedJson json_of(const Cost& c) {
  return {{"seconds", json_of(c.seconds)},
          {"device_hours", json_of(c.device_hours)},
          {"price", json_of(c.price)},
          {"kwh", json_of(c.kwh)},
          {"co2_kg", json_of(c.co2_kg)}};
}

OrderedJson json_of(const Proposal& p) {
  return {{"n_layers", p.model.n_layers},
          {"d_model", p.model.d_model},
          {"n_heads", p.model.n_heads},
          {"parameters", p.counts.all},
          {"blocks", p.counts.blocks},
          {"embedding", p.counts.embedding},
          {"head", p.counts.head},
          {"n", p.n},
          {"flops_per_token", p.counts.flops_per_token},
          {"tokens", p.tokens},
          {"tokens_needed", json_of(p.tokens_needed)},
          {"flops", p.flops},
          {"epochs", p.epochs},
          {"loss", json_of(p.loss)},
          {"penalty", json_of(p.penalty)},
          {"cost", json_of(p.cost)}};
}

OrderedJson json_of(const RuleSettings& one) {
  return {{"rule", one.rule},
          {"lr", one.settings.lr},
          {"batch_tokens", positive(one.settings.batch_tokens)}};
}

OrderedJson json_of(const LawOptimum& one) {
  return {{"law", one.law},
          {"parameters", study::name_of(one.counts)},
          {"n", one.best.n},
          {"d", one.best.d},
          {"loss", one.best.loss}};
}

template <class Items>
OrderedJson each(const Items& items) {
  OrderedJson list = OrderedJson::array();
  for (const auto& item : items) list.push_back(json_of(item));
  return list;
}

OrderedJson json_of(const RankMemory& m) {
  return {{"values", m.values},
          {"gradients", m.gradients},
          {"optimizer", m.optimizer},
          {"activations", m.activations},
          {"work", m.work + m.packed}};
}

OrderedJson json_of(const Layout& l) {
  return {{"pipeline", l.parallel.pipeline},
          {"data", l.parallel.data},
          {"tensor", l.parallel.tensor},
          {"devices", l.devices()},
          {"sequence", l.parallel.sequence},
          {"zero", l.parallel.zero},
          {"recompute", name_of(l.parallel.recompute)},
          {"global_batch", l.global_batch},
          {"micro_batch", l.micro_batch},
          {"bytes", l.bytes()},
          {"memory", json_of(l.memory)},
          {"snapshot", l.memory.snapshot},
          {"fits", l.fits}};
}

}  // namespace

std::string plan_json(const Plan& plan) {
  const OrderedJson json{{"skein_plan", 1},
                         {"version", kVersion},
                         {"flops", plan.flops},
                         {"beyond", plan.beyond},
                         {"law", json_of(plan.law)},
                         {"machine", json_of(plan.options.machine)},
                         {"best",
                          {{"n", json_of(plan.best_n)},
                           {"d", json_of(plan.best_d)},
                           {"ratio", json_of(plan.best_ratio)},
                           {"loss", json_of(plan.best_loss)}}},
                         {"proposal", json_of(plan.proposal)},
                         {"same_flops", each(plan.same_flops)},
                         {"same_loss", each(plan.same_loss)},
                         {"same_tokens", each(plan.same_tokens)},
                         {"lr", plan.settings.lr},
                         {"lr_rule", plan.options.lr_rule},
                         {"lr_origin", plan.lr_origin},
                         {"batch_tokens", plan.settings.batch_tokens},
                         {"batch_rule", plan.options.batch_rule},
                         {"batch_origin", plan.batch_origin},
                         {"other_rules", each(plan.other_rules)},
                         {"other_laws", each(plan.other_laws)},
                         {"steps", plan.steps},
                         {"warmup_tokens", plan.warmup_tokens},
                         {"layout", json_of(plan.layout)},
                         {"cost", json_of(plan.proposal.cost)},
                         {"warnings", plan.warnings}};
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace skein::scaling::plan
