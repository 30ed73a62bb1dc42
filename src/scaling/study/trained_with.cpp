#include "skein/scaling/study/trained_with.h"

#include <algorithm>
#include <set>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/scaling/laws/shape.h"
#include "skein/scaling/sweep/design.h"

#include "parts.h"

namespace skein::scaling::study {
namespace {

using Runs = std::vector<const ScalingRun*>;

constexpr double kOneValue = 1e-3;
constexpr size_t kFewestWidths = 3, kFewestBatchesOfRule = 3;

// "" where the sweep does not say, or not the same of all runs.
std::string said(const ScalingTable& table, const std::string& key) {
  const auto found = table.settings.find(key);
  return found == table.settings.end() ? "" : found->second;
}

int64_t whole_said(const ScalingTable& table, const std::string& key) {
  const std::string text = said(table, key);
  if (text.empty()) return 0;
  const auto value = parsed_number<int64_t>(text);
  require(value.has_value(),
          "{}: {} is \"{}\", which is no whole number; correct the settings there", table.path, key,
          excerpt(text));
  return std::max<int64_t>(0, *value);
}

// 0 where not all runs have it.
int64_t common(const Runs& runs, int64_t ScalingRun::*field) {
  for (const ScalingRun* run : runs)
    if (run->*field != runs.front()->*field) return 0;
  return runs.empty() ? 0 : runs.front()->*field;
}

// The width of the heads of all runs; 0: not known.
int64_t head_width(const ScalingTable& table, const Runs& runs) {
  if (const int64_t given = whole_said(table, "model.d_head")) return given;
  int64_t width = 0;
  for (const ScalingRun* run : runs) {
    const int64_t own = run->n_heads > 0 ? run->d_model / run->n_heads : 0;
    if (own == 0 || (width != 0 && own != width)) return 0;
    width = own;
  }
  return width;
}

// What each run has, in increasing order; none where one does not say.
std::vector<double> values_of(const Runs& runs, double ScalingRun::*field, int64_t base_width) {
  std::vector<double> values;
  for (const ScalingRun* run : runs) {
    const double scale = base_width > 0 ? ratio(run->d_model, base_width) : 1;
    if (!(run->*field * scale > 0)) return {};
    values.push_back(run->*field * scale);
  }
  std::sort(values.begin(), values.end());
  return values;
}

bool one_value(const std::vector<double>& values) {
  return !values.empty() && values.back() <= values.front() * (1 + kOneValue);
}

// Where nobody says the rule, rates that times the width are one value show it: the least width;
// 0: they do not.
int64_t shown_base_width(const Runs& runs) {
  std::set<int64_t> widths;
  for (const ScalingRun* run : runs) widths.insert(run->d_model);
  if (widths.size() < kFewestWidths || *widths.begin() <= 0) return 0;
  return one_value(values_of(runs, &ScalingRun::lr, *widths.begin())) ? *widths.begin() : 0;
}

SettingRule of_values(const std::string& rule, const std::vector<double>& values) {
  return {rule, values[(values.size() - 1) / 2], values.front(), values.back()};
}

// What the sweep says, else what one value in all runs shows.
SettingRule rule_of(const ScalingTable& table, const std::string& key, std::vector<double> values) {
  SettingRule made;
  made.rule = said(table, key);
  if (std::ranges::count(hyperparameter_rules(), made.rule) > 0) {
    const std::string factor = key == "sweep.lr_rule" ? said(table, "sweep.lr_factor") : "";
    made.value = made.low = made.high =
        factor.empty() ? 1 : sweep::number_of(factor, table.path + ": sweep.lr_factor");
    return made;
  }
  if (values.empty() || table.settings.empty()) return {};
  if (made.rule.empty() && one_value(values)) made.rule = "fixed";
  if (made.rule != "fixed" && made.rule != "width" && made.rule != "mup") return {};
  return of_values(made.rule, values);
}

// Of a table that says nothing one batch in all runs is the rule itself; one rate may be of muP.
SettingRule batch_rule_of(const ScalingTable& table, const Runs& runs) {
  const std::vector<double> values = values_of(runs, &ScalingRun::global_batch, 0);
  if (table.settings.empty() && values.size() >= kFewestBatchesOfRule && one_value(values))
    return of_values("fixed", values);
  return rule_of(table, "sweep.batch_rule", values);
}

}  // namespace

RunSettings trained_with(const ScalingTable& table, const Convention& convention) {
  const Runs runs = done_runs(table);
  RunSettings made;
  made.vocab_size = common(runs, &ScalingRun::vocab_size);
  for (const ScalingRun* run : runs) made.widest = std::max(made.widest, run->d_model);
  made.mup_base_width = whole_said(table, "model.mup_base_width");
  if (made.mup_base_width > 0) {
    made.mup_base_head = whole_said(table, "model.mup_base_head");
    if (made.mup_base_head == 0) made.mup_base_head = head_width(table, runs);
  }
  const bool by_width = said(table, "sweep.lr_rule") == "width";
  const bool says = !said(table, "sweep.lr_rule").empty();
  const int64_t shown = says || made.mup_base_width > 0 ? 0 : shown_base_width(runs);
  made.base_width = by_width ? whole_said(table, "sweep.base_width") : shown;
  const std::vector<double> rates = values_of(runs, &ScalingRun::lr, made.base_width);
  made.lr = shown > 0 ? of_values("width", rates) : rule_of(table, "sweep.lr_rule", rates);
  if (made.lr.rule == "fixed" && made.mup_base_width > 0) made.lr.rule = "mup";
  if (by_width && made.base_width == 0) made.lr = {};
  made.batch = batch_rule_of(table, runs);
  made.best_lr = best_setting(table, convention.parameters, &ScalingRun::lr,
                              &ScalingRun::global_batch, SizeMeasure::parameters, "learning rates");
  made.best_batch = best_setting(table, convention.parameters, &ScalingRun::global_batch,
                                 &ScalingRun::lr, SizeMeasure::tokens, "batch sizes");
  return made;
}

}  // namespace skein::scaling::study
