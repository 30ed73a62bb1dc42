// Runs that begin from another task's model, as commands prepare them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "skein/checkpoint/claim.h"
#include "skein/train/trained_model.h"

#include "command.h"

namespace skein::cli {

struct AdaptedRun {
  std::map<std::string, std::string> given;  // the options of the model that were given, by key
  train::TrainedModel
      source;            // the run's own checkpoint where it has one, else the one it begins from
  bool goes_on = false;  // it is its own
  std::unique_ptr<checkpoint::RunClaim> claim = {};  // of run.dir, for train()
};

// Starts the world and finds what the run begins from; config.model becomes what is stored there,
// but for the dropout of this run, and its deviations of start values where they were given. A
// micro-batch that was not given fits the batch. Usage errors where there is no such model, or none
// that text can be encoded for; with `pictures` one that reads pictures will do, too.
AdaptedRun begin_adapted(Options& options, train::PretrainConfig& config,
                         std::unique_ptr<Group>& world, bool pictures = false);

// The options as the run has them: what the model and the data said is told with its origin. A
// usage error for an option of the model that was given and is otherwise.
void settle_run(Options& options, const train::PretrainConfig& config, const AdaptedRun& run);

}  // namespace skein::cli
