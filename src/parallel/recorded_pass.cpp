#include "skein/parallel/recorded_pass.h"

namespace skein {
namespace {

constexpr Tensor Batch::*kOnDevice[] = {&Batch::tokens, &Batch::targets, &Batch::positions,
                                        &Batch::segments, &Batch::sample_ids};

}  // namespace

bool RecordedPass::same_shape(const Batch& batch) const {
  return batch.tokens.shape() == batch_.tokens.shape() &&
         batch.segments.defined() == batch_.segments.defined();
}

void RecordedPass::keep(const Batch& batch, const Tensor& row_weights) {
  batch_ = batch;
  for (Tensor Batch::*part : kOnDevice)
    if ((batch.*part).defined()) batch_.*part = (batch.*part).clone();
  row_weights_ = row_weights.clone();
}

void RecordedPass::take(const Batch& batch, const Tensor& row_weights) const {
  for (Tensor Batch::*part : kOnDevice)
    if ((batch.*part).defined()) (batch_.*part).copy_from(batch.*part);
  row_weights_.copy_from(row_weights);
}

Tensor RecordedPass::run(const Batch& batch, const Tensor& row_weights, const Work& work) {
  const bool first = !recording_;
  if (first) {
    recording_ = std::make_unique<cuda::Recording>(batch.tokens.device().index);
    keep(batch, row_weights);
  } else if (!same_shape(batch)) {
    return work(batch, row_weights);
  } else {
    take(batch, row_weights);
  }
  const auto once = [&] { losses_ = work(batch_, row_weights_); };
  if (first) {
    recording_->run(once);
  } else {
    if (!recording_->recorded()) {
      losses_ = {};
      recording_->record(once);
    }
    recording_->queue();
  }
  return losses_.clone();
}

}  // namespace skein
