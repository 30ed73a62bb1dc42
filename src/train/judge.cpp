#include "skein/train/judge.h"

#include <algorithm>

namespace skein {

std::vector<std::vector<double>> judge(const Judged& model, const SampleSource& samples, int64_t count, size_t terms, bool with_answers,
                                       const UseAnswers& use) {
  Mesh& mesh = model.mesh;
  std::vector<Tensor> sums;
  for (size_t term = 0; term < terms; ++term) sums.push_back(Tensor::zeros({count}, DType::f64));
  const int64_t stride = model.batch * mesh.dp().size();
  for (int64_t first = mesh.dp().rank() * model.batch; first < count; first += stride) {
    PipelineStep work;
    work.train = false;
    work.answers = with_answers;
    work.micro_batches.push_back(samples.batch(first, std::min(model.batch, count - first)));
    model.pipeline.run(work, model.pass);
    if (!mesh.last_stage()) continue;
    const auto losses = model.pipeline.losses();
    for (size_t term = 0; term < terms; ++term) std::copy(losses[term].begin(), losses[term].end(), sums[term].data<double>() + first);
    use(work.micro_batches.back(), with_answers ? model.pipeline.answers().front() : std::vector<Tensor>());
  }
  std::vector<std::vector<double>> all;
  for (const Tensor& sum : sums) {
    // Every place is 0 on all ranks but one, so the sum moves the values without rounding.
    mesh.dp().all_reduce_sum(sum);
    mesh.pp().broadcast(sum, mesh.pp().size() - 1);
    all.emplace_back(sum.span<double>().begin(), sum.span<double>().end());
  }
  return all;
}

}  // namespace skein
