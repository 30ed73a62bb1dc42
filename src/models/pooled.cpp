#include "skein/models/pooled.h"

#include <algorithm>

namespace skein {
namespace {

// Tokens of a sample, of so many, ahead of its padding.
int64_t tokens_of(const data::Batch& batch, const Tensor& segments, const Tensor& places,
                  int64_t sample, int64_t all) {
  if (batch.features.defined() && !segments.defined()) return all;
  if (!segments.defined()) return places.data<int32_t>()[sample * places.dim(1)] + 1;
  const int32_t* from = segments.data<int32_t>() + sample * batch.length();
  return std::find(from, from + batch.length(), -1) - from;
}

Losses no_losses(const Var& output, const LossPass& pass) {
  const Tensor& weights = pass.batch->weights;
  const Tensor rows = Tensor::zeros({weights.size()}, gradient_dtype(output.value().dtype()),
                                    output.value().device());
  return {Var(rows), row_weights_of(weights, pass.loss_scale, output.value()), {weights}};
}

// Ahead of the nodes of each graph.
int64_t virtual_nodes(const Var& output, const data::Batch& batch) {
  return batch.links.defined() ? output.shape()[1] - batch.length() : 0;
}

}  // namespace

Losses PoolingObjective::losses(const Var& output, const LossPass& pass) const {
  return no_losses(output, pass);
}

std::vector<Tensor> PoolingObjective::answers(const Var& output, const Pass& pass) const {
  const data::Batch& batch = *pass.batch;
  // Models of pictures may have fewer tokens at their end, those of graphs a virtual node more.
  const int64_t samples = batch.size(),
                length = batch.features.defined() || batch.links.defined() ? output.shape()[1]
                                                                           : batch.length(),
                width = output.value().size() / (samples * length);
  const Pool pool = virtual_nodes(output, batch) > 0 ? Pool::first : pool_;
  const Tensor hidden = output.value().to(Device{}).to(DType::f32),
               made = Tensor::zeros({samples, 1, width}, DType::f32);
  const Tensor segments = batch.segments.defined() ? batch.segments.to(Device{}) : Tensor(),
               places = batch.places.defined() ? batch.places.to(Device{}) : Tensor();
  for (int64_t sample = 0; sample < samples; ++sample) {
    const int64_t tokens = tokens_of(batch, segments, places, sample, length);
    const int64_t first = pool == Pool::last   ? tokens - 1
                          : pool == Pool::mean ? ahead_
                                               : 0,
                  count = pool == Pool::mean ? tokens - ahead_ : 1;
    const float* from = hidden.data<float>() + (sample * length + first) * width;
    for (int64_t column = 0; column < width; ++column) {
      double sum = 0;
      for (int64_t t = 0; t < count; ++t) sum += from[t * width + column];
      made.data<float>()[sample * width + column] =
          static_cast<float>(sum / static_cast<double>(std::max<int64_t>(1, count)));
    }
  }
  return {made};
}

Losses TokensObjective::losses(const Var& output, const LossPass& pass) const {
  return no_losses(output, pass);
}

std::vector<Tensor> TokensObjective::answers(const Var& output, const Pass& pass) const {
  const Tensor all = output.value().to(Device{}).to(DType::f32);
  const int64_t ahead = virtual_nodes(output, *pass.batch);
  if (ahead == 0) return {all};
  const int64_t length = all.dim(1) - ahead, width = all.dim(2);
  const Tensor made = Tensor::empty({all.dim(0), length, width}, DType::f32);
  for (int64_t sample = 0; sample < all.dim(0); ++sample)
    made.flat(sample * length * width, length * width)
        .copy_from(all.flat((sample * all.dim(1) + ahead) * width, length * width));
  return {made};
}

}  // namespace skein
