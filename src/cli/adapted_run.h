// Runs that begin from another task's model, as commands prepare them.
#pragma once

#include <map>
#include <string>

#include "command.h"
#include "skein/train/config.h"

namespace skein {

// The options of the model that were given, by key.
std::map<std::string, std::string> given_model(const Options& options);

// Collective. The run's own checkpoint where it has one, else the one it begins from. A usage error where there is neither.
Source start_of(const PretrainConfig& config, Group& world);

// config.model as it is stored, but for the dropout of this run, and its deviations of start values where they were given.
void take_model(PretrainConfig& config, const ModelConfig& stored, const std::map<std::string, std::string>& given);

// The options as the run has them: what the model and the data said is told with its origin. A usage error for an option of the model
// that was given and is otherwise.
void settle_run(Options& options, const PretrainConfig& config, const std::map<std::string, std::string>& given, const Source& source);

}  // namespace skein
