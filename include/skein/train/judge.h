// A model's losses and answers over the samples of a source, whatever the layout.
#pragma once

#include <functional>
#include <vector>

#include "skein/data/samples/source.h"
#include "skein/train/task.h"

namespace skein {

// Collective. Runs samples [0, count), divided over data-parallel ranks, and calls use(batch,
// answers) on every rank of the last stage for its own batches, trimmed, answers as
// Objective::answers; with_answers = false leaves them empty. Returns each sample's weighted loss
// sum for each of `terms` terms, on all ranks. Interrupted at model.meeting.
using UseAnswers = std::function<void(const Batch& batch, const std::vector<Tensor>& answers)>;
std::vector<std::vector<double>> judge(const Judged& model, const SampleSource& samples,
                                       int64_t count, size_t terms, bool with_answers,
                                       const UseAnswers& use);

// Copies f32 answers for `samples` samples to samples `first` on of all [count, places, numbers]; a
// sample may have fewer places.
void put_answers(const Tensor& answers, const Tensor& all, int64_t first, int64_t samples);

// The objective's first answer for samples [0, count), as judge, on every rank: [count, places,
// numbers] f32, the same bits at every data- and pipeline-parallel layout. No losses are made.
Tensor all_answers(const Judged& model, const SampleSource& samples, int64_t count, int64_t places,
                   int64_t numbers);

}  // namespace skein
