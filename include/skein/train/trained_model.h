// A trained model as its checkpoint holds it, for whoever uses it without going on with its run.
#pragma once

#include <string>

#include "skein/checkpoint/checkpoint.h"
#include "skein/data/noise/noise.h"
#include "skein/data/samples/masking.h"
#include "skein/models/config.h"
#include "skein/train/run_state.h"

namespace skein::train {

struct TrainedModel {
  checkpoint::CheckpointInfo info;
  RunState state;  // of the run that wrote it; of an import, with the options of the model alone
  ModelConfig model;
  data::MaskConfig mlm;
  data::NoiseConfig noise;
};

// Collective. Reads what a checkpoint that was found says. A usage error where its tensors are not
// those of the model that it describes: from here on the model's sizes can be relied on.
TrainedModel trained_model(const checkpoint::CheckpointInfo& info, Group& world);
// Collective. Opens the checkpoint at `path`, or what find_weights takes of a run's folder there.
// option: the option that named it, for messages. Usage errors where there is none, and as above.
TrainedModel open_trained_model(const std::string& path, Group& world,
                                const std::string& option = "checkpoint.path");

// Throws a usage error where no text can be encoded for the model because nothing names its
// tokenizer.
void require_tokenizer(const TrainedModel& source);

}  // namespace skein::train
