#include "skein/nn/set_pool.h"

#include <cmath>

#include "skein/nn/link_attention.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"

namespace skein {

SetPool::SetPool(Parameters& parameters, const SetPoolSpec& spec) : spec_(spec) {
  if (spec.kind != SetPooling::attention) return;
  require(spec.heads > 0 && spec.width % spec.heads == 0,
          "{}: {} heads do not divide a width of {}", spec.name, spec.heads, spec.width);
  query_ = parameters.add({.name = spec.name + ".query",
                           .shape = {spec.heads, spec.width / spec.heads},
                           .start = {Start::normal, spec.deviation}});
  parameters.add_cost(ScoreCost{
      .width = spec.width, .structure = [seen = spec.members_per_row](int64_t) { return seen; }});
}

// Every set has a copy of the queries, so that their gradient is a sum over sets, one by one.
Var SetPool::attended(const Var& x, const ops::Links& sets) const {
  const int64_t heads = spec_.heads, all = sets.row_count() * heads;
  const Tensor ids = Tensor::empty({sets.row_count(), heads}, DType::i32);
  for (int64_t i = 0; i < all; ++i) ids.data<int32_t>()[i] = static_cast<int32_t>(i % heads);
  const Var queries = ops::embedding(ids.to(x.value().device()), query_, 0);
  const double scale = 1 / std::sqrt(static_cast<double>(spec_.width / heads));
  return ops::gather_sum(x, sets, ops::link_softmax(ops::link_dot(queries, x, sets, scale), sets));
}

Var SetPool::operator()(const Var& x, const ops::Links& sets) const {
  const int64_t rows = x.shape()[0] * x.shape()[1],
                heads = spec_.kind == SetPooling::attention ? spec_.heads : 1;
  const Var members = ops::reshape(x, {rows, heads, spec_.width / heads});
  const auto pooled = [&] {
    switch (spec_.kind) {
      case SetPooling::attention: return attended(members, sets);
      case SetPooling::max: return ops::gather_max(members, sets);
      case SetPooling::sum: return ops::gather_sum(members, sets);
      case SetPooling::mean: break;
    }
    const DType sums = gradient_dtype(x.value().dtype());
    const Device device = x.value().device();
    return ops::gather_sum(members, sets, Var(mean_of_links(sets.to(Device{}), sums).to(device)));
  };
  return ops::reshape(pooled(), {sets.row_count(), 1, spec_.width});
}

ops::Links sets_of_samples(const Tensor& segments) {
  const Tensor here = segments.to(Device{});
  std::vector<int64_t> starts{0}, members;
  for (int64_t b = 0; b < here.dim(0); ++b) {
    for (int64_t i = b * here.dim(1); i < (b + 1) * here.dim(1); ++i)
      if (here.data<int32_t>()[i] >= 0) members.push_back(i);
    starts.push_back(std::ssize(members));
  }
  return kernels::make_links(starts, members, here.size());
}

}  // namespace skein
