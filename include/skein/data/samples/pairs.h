// Samples of two parts, for an encoder that is told whether they belong together. Sentences are
// those of the store.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/data/samples/draws.h"
#include "skein/data/samples/masking.h"
#include "skein/data/stores/store.h"

namespace skein::data {

// Sentences [first, end) of one document, to be cut to `most` tokens.
struct SentenceRun {
  int64_t first = 0, end = 0;
  int32_t most = 0;
};

// Runs that fill `most` tokens, or, for a part `short_samples` of them, a random number from 2 to
// that, as Megatron-LM makes them: a run ends where it is full, has two sentences, and leaves more
// than one; or with its document. Documents of one sentence, or with one of more than 512 tokens,
// are left out. A usage error when nothing is left, or when the store has no sentences.
std::vector<SentenceRun> sentence_runs(const TokenStore& store, int64_t most, double short_samples,
                                       uint64_t seed);

// A usage error when the task needs other documents and the store holds one.
void check_pairs(const TokenStore& store, PairTask task);

struct PairSample {
  std::vector<int32_t> first, second;
  // next: the second is from another document; order: it stood before the first
  bool apart = false;
};

// Cuts a run in two at a random sentence and shortens the longer part, at random ends, until both
// have at most run.most tokens together. PairTask::next takes another document's sentences for the
// second part half of the time, PairTask::order changes the two.
PairSample make_pair_sample(const TokenStore& store, const SentenceRun& run, PairTask task,
                            Draws draws);

}  // namespace skein::data
