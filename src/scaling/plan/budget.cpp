#include "budget.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "skein/core/error.h"

namespace skein::scaling::plan {
namespace {

// Lower case, without the device that is meant, blanks, hyphens and the s of a plural.
std::string bare_unit(const std::string& text) {
  std::string unit;
  for (const char letter : text)
    if (letter != ' ' && letter != '-' && letter != '_') unit += std::tolower(letter & 0xFF);
  for (const char* device : {"gpu", "device"})
    if (unit.starts_with(device)) unit.erase(0, std::strlen(device));
  if (unit.size() > 1 && unit.ends_with('s')) unit.pop_back();
  return unit;
}

// Hours of a unit of time, 0 of FLOPs; nothing for what is neither.
std::optional<double> hours_of(const std::string& unit) {
  static const std::map<std::string, double> kUnits{{"", 0},     {"flop", 0}, {"h", 1},
                                                    {"hour", 1}, {"d", 24},   {"day", 24}};
  const auto found = kUnits.find(bare_unit(unit));
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

// budget_text as one of the two numbers.
void read_budget(PlanOptions& o) {
  const std::string text = std::exchange(o.budget_text, "");
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::optional<double> hours = error == std::errc() ? hours_of(end) : std::nullopt;
  require(hours && std::isfinite(value),
          "plan.budget=\"{}\" is no budget; give FLOPs as 1e22 or 5e20FLOPs, or the time of all "
          "devices together as 5000h, 5000GPU-hours or 200GPU-days, which takes machine.kind or "
          "machine.peak",
          text);
  require(*hours == 0 || o.gpu_hours == 0,
          "give one budget: plan.budget={} or plan.gpu_hours={}, not both", text, o.gpu_hours);
  (*hours > 0 ? o.gpu_hours : o.budget) = *hours > 0 ? value * *hours : value;
}

// Of what plan.budget and plan.gpu_hours may be: 0 is not given.
void check_budget(const char* name, double value, const char* unit) {
  require(std::isfinite(value) && value >= 0, "{}={} is no budget; give {} above 0", name, value,
          unit);
}

void check_budgets(const PlanOptions& o) {
  check_budget("plan.budget", o.budget, "FLOPs");
  check_budget("plan.gpu_hours", o.gpu_hours, "hours of devices");
  check_budget("plan.train_tokens", o.train_tokens, "tokens");
  const int given = (o.budget > 0) + (o.gpu_hours > 0) + (o.train_tokens > 0);
  require(
      given == 1,
      "give one budget above 0: plan.budget in FLOPs, plan.gpu_hours, or plan.train_tokens of a "
      "given model, not {}",
      given == 0 ? "none" : "several");
}

}  // namespace

PlanOptions with_budget(PlanOptions o) {
  if (!o.budget_text.empty()) read_budget(o);
  check_budgets(o);
  return o;
}

double flops_of_budget(const PlanOptions& o) {
  const double flops = o.budget > 0         ? o.budget
                       : o.train_tokens > 0 ? o.train_tokens * counts_of(o.model).flops_per_token
                                            : o.gpu_hours * 3600 * o.machine.peak * o.machine.share;
  require(flops >= 1e6 && flops <= 1e32,
          "a budget of {:.4g} FLOPs cannot be planned for; it is 1e6 to 1e32{}", flops,
          o.gpu_hours == 0 ? ""
                           : fmt::format(" (plan.gpu_hours={} x 3600 x {:.4g} FLOP/s x {})",
                                         o.gpu_hours, o.machine.peak, o.machine.share));
  return flops;
}

}  // namespace skein::scaling::plan
