#include "skein/parallel/messages.h"

#include <limits>

namespace skein {
namespace {

int tag_of(const StagePieces& pieces, const Action& action, int receiving_piece) {
  return (action.micro_batch * pieces.count() + receiving_piece) * 2 +
         (action.kind == Action::backward ? 1 : 0);
}

}  // namespace

std::optional<StageMessage> StagePieces::received(const Action& action) const {
  const bool forward = action.kind == Action::forward;
  if (forward ? first(action.chunk) : last(action.chunk)) return {};
  const int piece = number(action.chunk);
  return StageMessage{(forward ? piece - 1 : piece + 1) % stages, tag_of(*this, action, piece)};
}

std::optional<StageMessage> StagePieces::sent(const Action& action) const {
  const bool forward = action.kind == Action::forward;
  if (forward ? last(action.chunk) : first(action.chunk)) return {};
  const int piece = number(action.chunk) + (forward ? 1 : -1);
  return StageMessage{piece % stages, tag_of(*this, action, piece)};
}

int64_t most_sending(ScheduleKind kind, int stages) {
  return kind == ScheduleKind::gpipe ? std::numeric_limits<int64_t>::max() : stages;
}

}  // namespace skein
