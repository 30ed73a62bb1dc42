#include "skein/parallel/recorded_pass.h"

namespace skein {

Tensor RecordedPass::run(const data::Batch& batch, const Tensor& row_weights, const Work& work) {
  const bool first = !recording_;
  if (first) {
    recording_ = std::make_unique<cuda::Recording>(batch.tokens.device().index);
    batch_ = with_own_bytes(batch);
    row_weights_ = row_weights.clone();
  } else if (!same_shapes(batch, batch_)) {
    return work(batch, row_weights);
  } else {
    copy_bytes(batch, batch_);
    row_weights_.copy_from(row_weights);
  }
  const auto once = [&] { losses_ = work(batch_, row_weights_); };
  if (!recording_->recorded()) {
    losses_ = {};
    if (!recording_->settled()) {
      recording_->run(once);
      return losses_.clone();
    }
    recording_->record(once);
  }
  recording_->queue();
  return losses_.clone();
}

}  // namespace skein
