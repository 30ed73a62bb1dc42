#include <cmath>

#include "skein/scaling/plan.h"
#include "skein/train/progress.h"
#include "text_table.h"

namespace skein {
namespace {

std::string spread(const Interval& x, int digits = 3) {
  if (std::isnan(x.low)) return shown(x.value, digits);
  return fmt::format("{} ({} to {})", shown(x.value, digits), shown(x.low, digits), shown(x.high, digits));
}

// Three digits without an exponent: "413000".
std::string amount(double x) {
  if (!(x >= 1 && x < 1e12)) return shown(x, 3);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(x)) - 2));
  return x < 100 ? shown(x, 3) : fmt::format("{:.0f}", std::round(x / unit) * unit);
}

std::string amounts(const Interval& x) { return fmt::format("{} ({} to {})", amount(x.value), amount(x.low), amount(x.high)); }

std::string seconds_of(const Interval& x) {
  return fmt::format("{} ({} to {})", readable_seconds(x.value), readable_seconds(x.low), readable_seconds(x.high));
}

std::string line(const char* what, const std::string& text) { return fmt::format("  {:<20} {}\n", what, text); }

std::string shape_of(const ModelConfig& m) { return fmt::format("{} x {}", m.n_layers, m.d_model); }

std::string law_text(const Plan& p) {
  std::string text = fmt::format("The law: {} ({}), counting {}\n", p.law.name, p.law.source, name(p.law.convention));
  text += line("budget", fmt::format("{:.4g} FLOPs, {} times its largest run ({:.3g})", p.flops, shown(p.beyond, 3), p.law.largest_flops));
  text += line("best N*", spread(p.best_n) + " parameters as it counts");
  text += line("best D*", spread(p.best_d) + " tokens");
  text += line("D*/N*", spread(p.best_ratio));
  return text + line("loss", spread(p.best_loss, 4) + " nats a token");
}

std::string model_text(const Plan& p) {
  const Proposal& best = p.proposal;
  const ModelConfig& m = best.model;
  std::string text = "\nThe model\n";
  text += line("shape", fmt::format("{} layers, width {}, {} heads of {}, feed-forward {}, {} ids, {} places", m.n_layers, m.d_model, m.n_heads,
                                    m.head_width(), m.hidden(), m.vocab_size, m.context));
  text += line("parameters", fmt::format("{:.4g} in all, {:.4g} in blocks, {:.4g} of the head's matrix; the law counts {:.4g}", best.counts.all,
                                         best.counts.blocks, best.counts.head, best.n));
  text += line("FLOPs a token", fmt::format("{:.4g} exactly (6 x parameters: {:.4g})", best.counts.flops_per_token, 6 * best.counts.all));
  text += line("tokens", fmt::format("{:.4g}, {:.3g} a parameter, {:.3g} passes", best.tokens, best.tokens / best.counts.all, best.epochs));
  return text + line("loss", spread(best.loss, 4) + " nats a token");
}

std::string run_text(const Plan& p) {
  const ParallelConfig& l = p.layout.parallel;
  const double batch = static_cast<double>(p.layout.global_batch * p.proposal.model.context);
  const char* recompute = l.recompute == Recompute::none ? "none" : l.recompute == Recompute::selective ? "selective" : "full";
  std::string text = "\nThe run\n";
  text += line("batch", fmt::format("{} sequences, {:.4g} tokens ({}: {:.4g})", p.layout.global_batch, batch, p.options.batch_rule, p.settings.batch_tokens));
  text += line("steps", fmt::format("{}, warm-up over {:.3g} tokens, cosine to a tenth", p.steps, p.warmup_tokens));
  text += line("learning rate", fmt::format("{:.3g} ({})", p.settings.lr, p.options.lr_rule));
  text += line("layout", fmt::format("pipeline {} x data {} x tensor {}{}{}, recompute {}, micro-batch {}", l.pipeline, l.data, l.tensor,
                                     l.sequence ? ", sequence" : "", l.zero ? ", ZeRO" : "", recompute, p.layout.micro_batch));
  const std::string room = p.options.machine.memory > 0 ? fmt::format(" of {:.1f}", p.options.machine.memory) : "";
  return text + line("memory", fmt::format("{:.3g} GiB{} a device", p.layout.bytes / (1 << 30), room));
}

std::string cost_text(const Plan& p) {
  const Machine& m = p.options.machine;
  if (std::isnan(p.cost.seconds.value)) return "\nNo run time or cost: give machine.kind or machine.peak.\n";
  std::string text = fmt::format("\nThe cost on {} devices of {:.4g} FLOP/s at {:.0f}% ({:.0f}% to {:.0f}%) of it\n", m.count, m.peak, 100 * m.share,
                                 100 * m.low(), 100 * m.high());
  text += line("run time", seconds_of(p.cost.seconds));
  text += line("device hours", amounts(p.cost.device_hours));
  text += line("price", m.price > 0 ? amounts(p.cost.price) : "unknown without machine.price");
  text += line("energy", m.watts > 0 ? amounts(p.cost.kwh) + " kWh" : "unknown without machine.watts");
  return text + line("CO2", std::isnan(p.cost.co2_kg.value) ? "unknown without machine.watts and machine.carbon" : amounts(p.cost.co2_kg) + " kg");
}

std::string sizes_text(const Plan& p) {
  TextTable table({"", "shape", "parameters", "tokens", "passes", "loss", "more loss than proposed", "tokens for the proposed loss", "FLOPs for it"});
  const auto row = [&](const Proposal& one) {
    table.add({fmt::format("{:.2f} x", one.counts.blocks / p.proposal.counts.blocks), shape_of(one.model), shown(one.counts.all), shown(one.tokens),
               shown(one.epochs, 3), shown(one.loss.value), spread(one.penalty, 2), shown(one.tokens_to_match),
               shown(one.tokens_to_match * one.counts.flops_per_token)});
  };
  bool proposed = false;
  for (const Proposal& other : p.others) {
    if (!proposed && other.counts.blocks > p.proposal.counts.blocks) row(p.proposal), proposed = true;
    row(other);
  }
  if (!proposed) row(p.proposal);
  return "\nThe same budget at other sizes\n" + table.text();
}

}  // namespace

std::string plan_text(const Plan& plan) {
  std::string text = law_text(plan) + model_text(plan) + run_text(plan) + cost_text(plan) + sizes_text(plan);
  for (const std::string& warning : plan.warnings) text += "\nwarning: " + warning;
  return text + (plan.warnings.empty() ? "" : "\n");
}

}  // namespace skein
