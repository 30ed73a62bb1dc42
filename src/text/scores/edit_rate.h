// Edits between two sequences of words, shifts of whole phrases among them, as Tercom and sacrebleu
// search for them.
#pragma once

#include <cstdint>

#include "grams.h"

namespace skein::text {

// How many insertions, deletions, substitutions and shifts make `hypothesis` of `reference`.
int64_t shift_edits(const Symbols& hypothesis, const Symbols& reference);

}  // namespace skein::text
