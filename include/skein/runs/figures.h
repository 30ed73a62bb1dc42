// Runs as figures: every number that they have, several runs on one axis.
#pragma once

#include <string>
#include <vector>

#include "skein/plot/figure.h"
#include "skein/runs/run_log.h"

namespace skein::runs {

struct ShownRun {
  std::string name;
  const RunLog* log = nullptr;
};

// The last part of each folder's path, and more of it where two would be alike.
std::vector<std::string> names_of(const std::vector<std::string>& folders);

// Losses; rates and norms; rewards and answers; evaluations and what else there is; speed and
// memory. Each number is a panel over the steps, with that of the validation on the same axes where
// a run has both; of many the first 100 are drawn, and a caption says so. A figure of which the
// runs have nothing is not there. A run has one colour in all.
std::vector<plot::Figure> figures_of(const std::vector<ShownRun>& runs);

}  // namespace skein::runs
