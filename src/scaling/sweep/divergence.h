// Whether a run has ended worse than nothing.
#pragma once

#include <string>

#include "skein/data/samples/loader.h"

#include "cell_folder.h"

namespace skein {

// Why the outcome's loss counts as diverged, or "": it is not finite, above the ln V of all tokens
// alike, or it rose by more than 0.1 nats from its lowest to above what the frequencies of the
// held-out tokens alone give.
std::string divergence(const CellOutcome& outcome, int64_t vocab_size, const DataConfig& data);
// Nats a token of the held-out stores, by the frequencies of their own tokens.
double unigram_loss(const DataConfig& data);

}  // namespace skein
