// Which learning rates and batches the runs of a table were trained with, and which did best: what
// a plan by their law goes on with.
#pragma once

#include <cstdint>
#include <string>

#include "skein/scaling/laws/results.h"

namespace skein::scaling::study {

// How the runs got a setting.
struct SettingRule {
  // fixed: one value; width: value base_width / d_model; mup: one value, scaled by muP; or one of
  // hyperparameter_rules(), times value. "": not known.
  std::string rule;
  // Of the runs that were fitted the middle one, the least and the largest.
  double value = kUnknown, low = kUnknown, high = kUnknown;
  bool known() const { return !rule.empty(); }
};

// Where a setting did best: coefficient N^n_exponent D^d_exponent.
struct BestSetting {
  double coefficient = kUnknown, n_exponent = 0, d_exponent = 0;
  int64_t cells = 0;    // models on so many tokens that it was found in
  std::string problem;  // why there is none
  bool valid() const { return problem.empty() && coefficient > 0; }
  double at(double n, double d) const;
};

struct RunSettings {
  int64_t vocab_size = 0;      // 0: not known, or not the same in all runs
  int64_t widest = 0;          // d_model; 0: not known
  int64_t base_width = 0;      // that rates of rule width are for
  int64_t mup_base_width = 0;  // of ModelConfig; 0: without muP, or not known
  int64_t mup_base_head = 0;   // the same; the runs' own heads where they gave none
  SettingRule lr, batch;       // batch in tokens
  BestSetting best_lr, best_batch;
};

// Rules are those that a sweep says its runs have, in the settings of its results.h5; where it says
// none, rates that times the width are one value at three widths or more are the rule width, and
// equal values the rule fixed (or mup). Tables without such settings, where equal rates may be of
// either, have no other rules, but fixed for the batch where three runs or more all have one.
//
// The best values are those of runs that are done or outclassed: of each model on as many tokens
// (within 2%), tried at three values or more, the vertex of a parabola of the loss over the
// logarithm of the value through the best one and its neighbours. Nothing is known where the best
// lies at an end. Of a value the other setting that did best counts, by the mean over its seeds.
// Over N (as `convention` counts it) and D powers are fitted by least squares of logarithms, where
// there are three of them over a factor of 2 or more; where N and D go together, over N alone for
// the rate and over D alone for the batch; where neither differs, the geometric mean is all that is
// known. A usage error for a setting of the table that should be a whole number and is none.
RunSettings trained_with(const ScalingTable& table, const Convention& convention);

}  // namespace skein::scaling::study
