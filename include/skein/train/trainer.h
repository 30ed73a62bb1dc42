// One training run of a GPT at any pipeline × data × tensor layout: from the options to the last checkpoint.
#pragma once

#include <string>
#include <vector>

#include "skein/train/config.h"

namespace skein {

struct TrainResult {
  std::vector<double> losses;  // mean of each step of this start, nats a token
  std::vector<double> grad_norms;  // before clipping
  Evaluation validation;       // at the end; no tokens without validation data
  int64_t step = 0;            // steps done in all
  bool stopped = false;        // was asked to stop before train.steps, and has committed a checkpoint if it has a folder
};

// Collective over world. Goes on from the newest good checkpoint in config.run.dir, if there is one, whatever layout wrote
// it. resolved: the options as text, for run.dir/config.ini. Usage errors say what does not fit, with both numbers.
TrainResult pretrain(PretrainConfig config, Group& world, const std::string& resolved = "");

}  // namespace skein
