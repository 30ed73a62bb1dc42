// What an evaluation takes over from the training of its model.
#pragma once

#include <map>
#include <string>

#include "skein/core/options/options.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// Options of this command that were not given take the values that the checkpoint `origin` was
// trained and validated with. trained: those values, by the option's name. One line of the log
// names all that were taken, and one line each names an option that was given and differs.
void take_over(Options& options, const std::map<std::string, std::string>& trained,
               const std::string& origin);

// The same for an evaluation on text: which places count, what they may see, and how far back.
void take_over_text(Options& options, const TrainedModel& source);

}  // namespace skein::train
