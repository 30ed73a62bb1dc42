// What an evaluation takes over from the training of its model.
#pragma once

#include <map>
#include <string>

#include "skein/core/options/options.h"
#include "skein/train/trained_model.h"

namespace skein {

// trained: options of this command by name, with the values that the checkpoint `origin` was
// trained and validated with. Those that were not given take them; a line of the log names them
// all, and one each of those that were given and differ.
void take_over(Options& options, const std::map<std::string, std::string>& trained,
               const std::string& origin);

// Of an evaluation on text: which places count, what they see, and how far back.
void take_over_text(Options& options, const TrainedModel& source);

}  // namespace skein
