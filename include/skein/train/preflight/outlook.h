// What a run would be, before anything is allocated or written: `--dry-run`.
#pragma once

#include <optional>
#include <string>

#include "skein/checkpoint/checkpoint.h"
#include "skein/train/config.h"
#include "skein/train/task.h"

namespace skein::train {

struct Outlook {
  std::string text;  // lines about model, steps, memory, disk and time; the same on all ranks
  std::string lack;  // why the run would end before its first step: memory; "": it would not
};

// Collective over world. Writes nothing, and takes no memory for the model: products as those of
// its feed-forward layers, of 2,048 rows and 8,192 x 2,048 numbers at most, are timed for a third
// of a second. Throws whatever keeps the run from being planned, as train() would. start: the
// checkpoint that the run goes on or begins from, where the caller has found it.
Outlook look_ahead(const PretrainConfig& config, Task& task, Group& world,
                   const std::optional<checkpoint::CheckpointInfo>& start = std::nullopt);

}  // namespace skein::train
