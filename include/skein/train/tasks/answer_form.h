// How the answers of a model that maps sources to targets begin and end, where its vocabulary alone
// does not say so: a checkpoint keeps it in its notes, under "answers", beside what its task says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/train/task_notes.h"

namespace skein::train {

struct AnswerForm {
  // What the decoder is fed first; -1: as data::pair_form has it.
  int32_t start = -1;
  // Ids of every answer (generate::BeamConfig has the same): its first, and its last where it is as
  // long as may be; -1: none.
  int32_t first = -1, last = -1;
  std::vector<int64_t> banned = {};  // ids that no answer has
  bool operator==(const AnswerForm&) const = default;
};

// The notes with it; as they are where it says nothing.
TaskNotes with_answers(const TaskNotes& notes, const AnswerForm& form);
// What the notes say of it. A usage error naming `origin` where that is damaged.
AnswerForm answer_form(const TaskNotes& notes, const std::string& origin);

}  // namespace skein::train
