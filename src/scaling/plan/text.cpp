#include <cmath>
#include <functional>

#include "skein/core/strings.h"
#include "skein/scaling/plan/plan.h"
#include "skein/train/progress.h"

#include "scaling/laws/text_table.h"
#include "search.h"

namespace skein::scaling::plan {
namespace {

std::string spread(const fit::Interval& x, int digits = 3) {
  if (std::isnan(x.low)) return shown(x.value, digits);
  return fmt::format("{} ({} to {})", shown(x.value, digits), shown(x.low, digits),
                     shown(x.high, digits));
}

// Three digits without an exponent: "413000".
std::string amount(double x) {
  if (!(x >= 1 && x < 1e12)) return shown(x, 3);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(x)) - 2));
  return x < 100 ? shown(x, 3) : fmt::format("{:.0f}", std::round(x / unit) * unit);
}

std::string time_of(double seconds) {
  constexpr double kYear = 365.25 * 86400;
  if (std::isnan(seconds)) return "-";
  return seconds < 10 * kYear ? readable_seconds(seconds) : amount(seconds / kYear) + " years";
}

std::string ranged(const fit::Interval& x, std::string (*word)(double)) {
  return fmt::format("{} ({} to {})", word(x.value), word(x.low), word(x.high));
}

std::string line(const char* what, const std::string& text) {
  return fmt::format("  {:<20} {}\n", what, text);
}

std::string shape_of(const ModelConfig& m) { return fmt::format("{} x {}", m.n_layers, m.d_model); }

std::string budget_text(const Plan& p) {
  if (std::isnan(p.beyond))
    return fmt::format("{:.4g} FLOPs; how large its largest run was is unknown", p.flops);
  return fmt::format("{:.4g} FLOPs, {} times its largest run ({:.3g})", p.flops, shown(p.beyond, 3),
                     p.law.largest_flops);
}

std::string law_text(const Plan& p) {
  std::string text = fmt::format("The law: {} ({}), counting {}\n", p.law.name, p.law.source,
                                 name(p.law.convention));
  text += line("budget", budget_text(p));
  text += line("best N*", spread(p.best_n) + " parameters as it counts");
  text += line("best D*", spread(p.best_d) + " tokens");
  text += line("D*/N*", spread(p.best_ratio));
  text += line("loss", spread(p.best_loss, 4) + " nats a token");
  text += line("N* grows as", "C^" + spread(p.law.n_exponent));
  return text + line("intervals", p.law.intervals);
}

std::string other_laws_text(const Plan& p) {
  TextTable table({"", "N*", "it counts", "D*", "D*/N*"});
  for (const LawOptimum& one : p.other_laws)
    table.add({one.law, shown(one.best.n, 3),
               one.counts == ParameterCount::blocks ? "blocks" : "all", shown(one.best.d, 3),
               shown(one.best.ratio(), 3)});
  return "\nWhat other published laws make of the budget\n" + table.text();
}

std::string model_text(const Plan& p) {
  const Proposal& best = p.proposal;
  const ModelConfig& m = best.model;
  std::string text = "\nThe model\n";
  text +=
      line("shape",
           fmt::format("{} layers, width {}, {} heads of {}, feed-forward {}, {} ids, {} places",
                       m.n_layers, m.d_model, m.n_heads, m.head_width(), m.hidden(), m.vocab_size,
                       m.context));
  text += line(
      "parameters",
      fmt::format(
          "{:.4g} in all, {:.4g} in blocks, {:.4g} of the head's matrix; the law counts {:.4g}",
          best.counts.all, best.counts.blocks, best.counts.head, best.n));
  text += line("FLOPs a token", fmt::format("{:.4g} exactly (6 x parameters: {:.4g})",
                                            best.counts.flops_per_token, 6 * best.counts.all));
  text += line("tokens", fmt::format("{:.4g}, {:.3g} a parameter, {:.3g} passes", best.tokens,
                                     best.tokens / best.counts.all, best.epochs));
  return text + line("loss", spread(best.loss, 4) + " nats a token");
}

// "; porian 0.000301, deepseek 0.00021".
std::string other_rules(const Plan& p, const std::string& taken, double Hyperparameters::*field) {
  std::string text;
  for (const RuleSettings& one : p.other_rules)
    if (one.rule != taken && one.settings.*field > 0)
      text += fmt::format("{}{} {}", text.empty() ? "; " : ", ", one.rule,
                          shown(one.settings.*field, field == &Hyperparameters::lr ? 3 : 4));
  return text;
}

std::string run_text(const Plan& p) {
  const ParallelConfig& l = p.layout.parallel;
  const double batch = static_cast<double>(p.layout.global_batch * p.proposal.model.context);
  std::string text = "\nThe run\n";
  text += line("batch",
               fmt::format("{} sequences, {:.4g} tokens ({}: {:.4g}{})", p.layout.global_batch,
                           batch, p.batch_origin, p.settings.batch_tokens,
                           other_rules(p, p.options.batch_rule, &Hyperparameters::batch_tokens)));
  text += line("steps", fmt::format("{}, warm-up over {:.3g} tokens, cosine to a tenth", p.steps,
                                    p.warmup_tokens));
  text +=
      line("learning rate", fmt::format("{:.3g} ({}{})", p.settings.lr, p.lr_origin,
                                        other_rules(p, p.options.lr_rule, &Hyperparameters::lr)));
  text += line("layout",
               fmt::format("pipeline {} x data {} x tensor {}{}{}, recompute {}, micro-batch {}",
                           l.pipeline, l.data, l.tensor, l.sequence ? ", sequence" : "",
                           l.zero ? ", ZeRO" : "", name_of(l.recompute), p.layout.micro_batch));
  const std::string room =
      p.options.machine.memory > 0 ? fmt::format(" of {:.1f}", p.options.machine.memory) : "";
  const RankMemory& m = p.layout.memory;
  const auto gib = [](double bytes) { return fmt::format("{:.3g}", bytes / (1 << 30)); };
  text += line("memory", fmt::format("{} GiB{} a device", gib(m.total()), room));
  text +=
      line("", fmt::format("values {}, gradients {}, optimizer {}, activations {}, work space {}",
                           gib(m.values), gib(m.gradients), gib(m.optimizer), gib(m.activations),
                           gib(m.work + m.packed)));
  return text + line("", fmt::format("a checkpoint's snapshot {}, {}", gib(m.snapshot),
                                     m.place == Snapshot::on_host
                                         ? "of the host's memory"
                                         : "in place of activations and work space"));
}

std::string cost_text(const Plan& p) {
  const Machine& m = p.machine;
  const Cost& cost = p.proposal.cost;
  if (std::isnan(cost.seconds.value))
    return "\nNo run time or cost: give machine.kind or machine.peak.\n";
  const int64_t given = p.options.machine.count;
  std::string text = fmt::format(
      "\nThe cost on {}{} devices of {:.4g} FLOP/s at {:.0f}% ({:.0f}% to {:.0f}%) of it\n",
      m.count, m.count < given ? fmt::format(" of {}", given) : "", m.peak, 100 * m.share,
      100 * m.low(), 100 * m.high());
  text += line("run time", ranged(cost.seconds, time_of));
  text += line("device hours", ranged(cost.device_hours, amount));
  text += line("price", m.price > 0 ? ranged(cost.price, amount) : "unknown without machine.price");
  text += line("energy",
               m.watts > 0 ? ranged(cost.kwh, amount) + " kWh" : "unknown without machine.watts");
  const char* missing = m.watts > 0    ? "machine.carbon"
                        : m.carbon > 0 ? "machine.watts"
                                       : "machine.watts and machine.carbon";
  return text + line("CO2", std::isnan(cost.co2_kg.value)
                                ? fmt::format("unknown without {}", missing)
                                : ranged(cost.co2_kg, amount) + " kg");
}

using Cell = std::function<std::string(const Proposal&)>;

struct Column {
  std::string head;
  Cell cell;
};
using Columns = std::vector<Column>;

// What is known of costs: at the machine's share, without their ranges.
Columns cost_columns(const Plan& p) {
  const std::pair<const char*, fit::Interval Cost::*> all[] = {
      {"device hours", &Cost::device_hours},
      {"price", &Cost::price},
      {"kWh", &Cost::kwh},
      {"kg CO2", &Cost::co2_kg}};
  Columns columns{{"FLOPs", [](const Proposal& one) { return shown(one.flops); }}};
  if (std::isnan(p.proposal.cost.seconds.value)) return columns;
  columns.push_back(
      {"run time", [](const Proposal& one) { return time_of(one.cost.seconds.value); }});
  for (const auto& [head, field] : all)
    if (!std::isnan((p.proposal.cost.*field).value))
      columns.push_back(
          {head, [field](const Proposal& one) { return amount((one.cost.*field).value); }});
  return columns;
}

std::string sizes_table(const Plan& p, const std::vector<Proposal>& others,
                        const Columns& columns) {
  std::vector<std::string> heads{"", "shape", "parameters"};
  for (const Column& column : columns) heads.push_back(column.head);
  TextTable table(heads);
  const auto row = [&](const Proposal& one) {
    std::vector<std::string> cells{
        fmt::format("{:.2f} x", one.counts.blocks / p.proposal.counts.blocks), shape_of(one.model),
        shown(one.counts.all)};
    for (const Column& column : columns) cells.push_back(column.cell(one));
    table.add(cells);
  };
  bool proposed = false;
  for (const Proposal& other : others) {
    if (!proposed && other.counts.blocks > p.proposal.counts.blocks)
      row(p.proposal), proposed = true;
    row(other);
  }
  if (!proposed) row(p.proposal);
  return table.text();
}

std::string needed(const Proposal& one) {
  const fit::Interval& x = one.tokens_needed;
  if (std::isnan(x.value)) return shown(one.tokens);
  if (std::isnan(x.low) && std::isnan(x.high)) return shown(x.value);
  return fmt::format("{} ({} to {})", shown(x.value), shown(x.low, 3),
                     std::isnan(x.high) ? "none" : shown(x.high, 3));
}

std::string sizes_text(const Plan& p) {
  const Column tokens{"tokens", [](const Proposal&one) { return shown(one.tokens); }},
      loss{"loss", [](const Proposal&one) { return shown(one.loss.value); }},
      more{"more than proposed", [](const Proposal&one) { return spread(one.penalty, 2); }},
      passes{
          "passes",
          [](const Proposal&one) { return std::isnan(one.tokens) ? "-" : shown(one.epochs, 3); }},
      enough{"tokens for it", needed};
  const Columns costs = cost_columns(p);
  const auto with_costs = [&](Columns columns) {
    columns.insert(columns.end(), costs.begin(), costs.end());
    return columns;
  };
  std::string text = "\nThe same budget at other sizes\n" +
                     sizes_table(p, p.same_flops, {tokens, passes, loss, more});
  text += "\nThe same loss at other sizes\n" +
          sizes_table(p, p.same_loss, with_costs({enough, passes}));
  text += "\nThe same tokens at other sizes\n" +
          sizes_table(p, p.same_tokens, with_costs({loss, more}));
  const Machine& m = p.options.machine;
  if (costs.size() == 1) return text;
  return text + fmt::format(
                    "  Time and what follows from it are those at {:.0f}% of the peak; at {:.0f}% "
                    "they are {:.2f} times that, at {:.0f}% {:.2f} times.\n",
                    100 * m.share, 100 * m.low(), m.share / m.low(), 100 * m.high(),
                    m.share / m.high());
}

}  // namespace

std::string plan_text(const Plan& plan) {
  std::string text = law_text(plan) + model_text(plan) + run_text(plan) + cost_text(plan) +
                     sizes_text(plan) + other_laws_text(plan);
  for (const std::string& warning : plan.warnings) text += "\nwarning: " + warning;
  return text + (plan.warnings.empty() ? "" : "\n");
}

}  // namespace skein::scaling::plan
