// Prefixes of samples: tokens that see each other in both directions, as those of a prompt do in a
// prefix language model (Raffel and others, "T5", 2020). What comes after them is learnt.
#pragma once

#include <cstdint>

#include "skein/data/samples/batch.h"
#include "skein/data/samples/draws.h"

namespace skein::data {

// Tokens of a sample's prefix, 1 to `length`: 1 + floor(u length) with u uniform in the widest
// range within [0, 1) whose middle is `mean`, in (0, 1). With 0.5 all lengths are alike likely, as
// T5 has it; with 0.75 at least half of the sample is prefix.
int64_t drawn_prefix(double mean, int64_t length, Draws draws);

// Makes the first `tokens` tokens the prefix of a row. None of them is predicted any more: the last
// one, which predicts the token after the prefix, is the first whose weight stays.
void set_prefix(const Batch& batch, int64_t row, int64_t tokens);

}  // namespace skein::data
