// A model's losses and answers over the samples of a source, whatever the layout.
#pragma once

#include <functional>
#include <vector>

#include "skein/data/samples/source.h"
#include "skein/train/task.h"

namespace skein::train {

// Collective. Runs samples [0, count), divided over data-parallel ranks. On every rank of the last
// stage it calls use(batch, answers) for the rank's own batches, which are trimmed; the answers are
// those of Objective::answers, or empty with with_answers = false. Returns each sample's weighted
// loss sum for each of `terms` terms, on all ranks. May be interrupted at model.meeting.
using UseAnswers =
    std::function<void(const data::Batch& batch, const std::vector<Tensor>& answers)>;
std::vector<std::vector<double>> judge(const EvaluatedModel& model,
                                       const data::SampleSource& samples, int64_t count,
                                       size_t terms, bool with_answers, const UseAnswers& use);

// Copies the f32 answers of `samples` samples into `all` [count, places, numbers], from sample
// `first` on. The answers may have fewer places.
void put_answers(const Tensor& answers, const Tensor& all, int64_t first, int64_t samples);

// Collective, as judge. Returns the answers of the objective's first term for samples [0, count) on
// every rank: [count, places, numbers] f32, the same bits at every data- and pipeline-parallel
// layout. No losses are made.
Tensor all_answers(const EvaluatedModel& model, const data::SampleSource& samples, int64_t count,
                   int64_t places, int64_t numbers);

}  // namespace skein::train
