// What Kahneman-Tversky optimisation (Ethayarajh et al. 2024) needs beside the answers that it
// learns from: a reference point, estimated from answers to other prompts.
//
// The paper takes the mean of log pi(y'|x) - log pi_0(y'|x) over the prompts x of a batch, each
// with the answer y' of another sample of it, at least 0. Here y' is fixed for each sample before
// training, so that the reference is asked about it once, and the batch is the global one, so that
// the point does not depend on how the batch is divided.
#pragma once

#include <cstdint>

#include "skein/rlhf/dpo/objective.h"
#include "skein/rlhf/dpo/samples.h"
#include "skein/train/task.h"

namespace skein::rlhf::dpo {

// Each answer of pairs with two answers becomes a sample of its own, and answers alone stay.
AnswerPairs taken_apart(AnswerPairs judged);

// For each sample of one answer its prompt with the answer of another, as the sample of the same
// number: that of the next one in an order drawn by `seed` whose prompt is another. Of more than
// `length` tokens the prompt loses its beginning. A usage error where all prompts are the same.
AnswerPairs mismatched(const AnswerPairs& judged, int64_t length, uint64_t seed);

// Collective. Of samples [first, first + count), under the policy as it is: the same bits on every
// rank and at every data- and pipeline-parallel layout. others: of the mismatched answers, in the
// same order; they remember the reference. The model's objective is a DpoObjective.
KtoPoint kto_point(const train::EvaluatedModel& model, const DpoSamples& judged,
                   const DpoSamples& others, int64_t first, int64_t count);

}  // namespace skein::rlhf::dpo
