// What the stages of a pipeline send each other, as data: which message an action waits for, and
// which one it makes.
#pragma once

#include <optional>

#include "skein/parallel/schedule.h"

namespace skein {

struct StageMessage {
  int peer;  // the other stage; the own one when both pieces are held there
  int tag;   // even for activations, odd for gradients; names the micro-batch and the receiving
             // piece
  bool operator==(const StageMessage&) const = default;
};

// The pieces of a model over a ring of stages: piece p is chunk p / stages of stage p % stages.
struct StagePieces {
  int stage = 0, stages = 1, chunks = 1;

  int count() const { return stages * chunks; }
  int number(int chunk) const { return chunk * stages + stage; }
  bool first(int chunk) const { return number(chunk) == 0; }
  bool last(int chunk) const { return number(chunk) == count() - 1; }

  // What this stage must have before the action; none at the ends of the model.
  std::optional<StageMessage> received(const Action& action) const;
  // What it sends after it.
  std::optional<StageMessage> sent(const Action& action) const;
};

// Gradients that a stage keeps under way before it waits for the oldest: few enough that its memory
// does not grow with the micro-batches, and so many that no stage waits for one that waits for it
// (tests/parallel/messages_test.cpp). GPipe, which keeps all micro-batches anyway, waits for none:
// with several chunks that would stand still.
int64_t most_sending(ScheduleKind kind, int stages);

}  // namespace skein
