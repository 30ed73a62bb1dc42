// What sequences begin from, side by side as a batch. Internal to the floor.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/data/samples/batch.h"
#include "skein/generate/continuation.h"

namespace skein::generate {

struct Beginning {
  const Tokens* fed;               // before the answer, to what makes it
  const Tokens* source = nullptr;  // what it reads besides; null where there is none

  // Of the same tokens.
  bool operator==(const Beginning& other) const;
};

// The tokens of those that are fed most.
int64_t longest_fed(const std::vector<Beginning>& all);
// Tokens of each source, at least 1; none where there are no sources.
std::vector<int64_t> source_lengths(const std::vector<Beginning>& all);

// Tokens and positions [B,T], each row's at its end, so that all are continued in one column; and
// in batch.source the sources [B,S], each at the beginning of its row, with segments, 0 and -1
// behind it, where they are not equally long.
data::Batch side_by_side(const std::vector<Beginning>& all);

}  // namespace skein::generate
