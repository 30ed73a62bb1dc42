// The tasks of pretraining on token stores: next tokens for decoders, masked ones for encoders, and
// for encoder-decoders text that they restore.
#pragma once

#include <memory>
#include <string>

#include "skein/train/config.h"
#include "skein/train/task.h"
#include "skein/train/trainer.h"

namespace skein::train {

// Makes the task that config.model.architecture can learn. Fills in what follows from the data:
// config.model.vocab_size where it is 0. Usage errors when the model's vocabulary is too small, or
// validation data was made with another tokenizer.
std::unique_ptr<Task> language_task(PretrainConfig& config);

// Collective over world: train() (train/trainer.h) with that task.
TrainResult pretrain(PretrainConfig config, Group& world, const std::string& resolved = "");

}  // namespace skein::train
