#include "skein/train/judge.h"

#include <algorithm>

#include "skein/parallel/lead.h"

namespace skein::train {

std::vector<std::vector<double>> judge(const EvaluatedModel& model,
                                       const data::SampleSource& samples, int64_t count,
                                       size_t terms, bool with_answers, const UseAnswers& use) {
  Mesh& mesh = model.mesh;
  std::vector<Tensor> sums;
  for (size_t term = 0; term < terms; ++term) sums.push_back(Tensor::zeros({count}, DType::f64));
  const BatchStride turns = batch_stride(mesh, model.batch);
  ForwardLead lead(mesh, model.meeting);
  for (int64_t first = turns.first; first < count; first += turns.apart) {
    PipelineStep work;
    work.train = false;
    work.answers = with_answers;
    work.losses = terms > 0;
    work.micro_batches.push_back(
        trimmed(samples.batch(first, std::min(model.batch, count - first)),
                row_multiple(model.pass.sequence_parallel, mesh.tp().size())));
    lead.before();
    model.pipeline.run(work, model.pass);
    lead.after();
    if (!mesh.last_stage()) continue;
    const auto losses = terms > 0 ? model.pipeline.losses() : std::vector<std::vector<double>>();
    for (size_t term = 0; term < terms; ++term)
      std::ranges::copy(losses[term], sums[term].data<double>() + first);
    use(work.micro_batches.back(),
        with_answers ? model.pipeline.answers().front() : std::vector<Tensor>());
  }
  lead.finish();
  std::vector<std::vector<double>> all;
  for (const Tensor& sum : sums) {
    mesh.share_results(sum);
    all.emplace_back(sum.span<double>().begin(), sum.span<double>().end());
  }
  return all;
}

void put_answers(const Tensor& answers, const Tensor& all, int64_t first, int64_t samples) {
  const int64_t numbers = all.dim(2), places = answers.size() / (samples * numbers);
  SKEIN_CHECK(places <= all.dim(1) && places * samples * numbers == answers.size());
  const float* from = answers.data<float>();
  for (int64_t sample = 0; sample < samples; ++sample, from += places * numbers)
    std::copy_n(from, places * numbers,
                all.data<float>() + (first + sample) * all.dim(1) * numbers);
}

Tensor all_answers(const EvaluatedModel& model, const data::SampleSource& samples, int64_t count,
                   int64_t places, int64_t numbers) {
  const Tensor all = Tensor::zeros({count, places, numbers}, DType::f32);
  const BatchStride turns = batch_stride(model.mesh, model.batch);
  int64_t first = turns.first;
  judge(model, samples, count, 0, true,
        [&](const data::Batch& batch, const std::vector<Tensor>& answers) {
          put_answers(answers[0], all, first, batch.size());
          first += turns.apart;
        });
  model.mesh.share_results(all);
  return all;
}

}  // namespace skein::train
