// A trained model as its checkpoint holds it, for whoever uses it without going on with its run.
#pragma once

#include <string>

#include "skein/checkpoint/checkpoint.h"
#include "skein/data/samples/masking.h"
#include "skein/models/config.h"
#include "skein/train/run_state.h"

namespace skein {

struct TrainedModel {
  CheckpointInfo info;
  RunState state;  // of the run that wrote it; of an import, with the options of the model alone
  ModelConfig model;
  MaskConfig mlm;
};

// Collective. What a checkpoint that has been found holds. A usage error where its tensors are not
// those of the model that it describes: from here on the model's sizes can be relied on.
TrainedModel trained_model(const CheckpointInfo& info, Group& world);
// Collective. path: a checkpoint, or a run's folder, of which find_weights decides what is taken.
// option: that named it, for messages. Usage errors where none is there, and as above.
TrainedModel open_trained_model(const std::string& path, Group& world,
                                const std::string& option = "checkpoint.path");

// A usage error where no text can be encoded for the model, since nothing names its tokenizer.
void require_tokenizer(const TrainedModel& source);

}  // namespace skein
