#include <algorithm>
#include <sstream>

#include "skein/core/where.h"
#include "skein/kernels/reduce.h"
#include "skein/parallel/buckets.h"

namespace skein {

// Where each parameter's chunks lie among this rank's, and where its sum is among those of all
// stages.
void Buckets::plan_norm(Device device) {
  std::vector<int64_t> ranges, order;
  std::string names;
  int64_t chunks = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.frozen) continue;
    for (const Member& member : bucket.members) {
      if (member.parameter->tied()) continue;
      const int64_t begin = chunks + member.begin / kChunk;
      ranges.push_back(begin);
      ranges.push_back(member.parameter->counts ? begin + (member.valid + kChunk - 1) / kChunk
                                                : begin);
      names += member.parameter->name + "\n";
    }
    chunks += bucket.size / kChunk;
  }
  const auto own = static_cast<int64_t>(ranges.size() / 2), most = mesh_.pp().max(own);
  std::vector<std::pair<std::string, int64_t>> sums;  // by name, among the sums of all stages
  int64_t stage = 0;
  for (const std::string& text : mesh_.pp().all_gather(names)) {
    int64_t at = stage++ * most;
    std::istringstream lines(text);
    for (std::string name; std::getline(lines, name);) sums.emplace_back(name, at++);
  }
  std::sort(sums.begin(), sums.end());
  for (const auto& [name, at] : sums) order.push_back(at);
  norm_.chunks = Tensor::empty({chunks}, DType::f64, device);
  norm_.ranges = Tensor::from(ranges, {own, 2}).to(device);
  norm_.sums = Tensor::zeros({most}, DType::f64, device);
  norm_.all_sums = Tensor::empty({most * mesh_.pp().size()}, DType::f64, device);
  norm_.order = Tensor::from(order, {static_cast<int64_t>(order.size())}).to(device);
  norm_.total = Tensor::zeros({1}, DType::f64, device);
}

Tensor Buckets::gradient_square_sum() const {
  const WhereScope here = WhereScope::part("gradient norm");
  return square_sum([this](size_t b) { return own_part(buckets_[b], buckets_[b].gradients); });
}

Tensor Buckets::square_sum(const std::function<Tensor(size_t bucket)>& own_slice) const {
  const NormPlan& n = norm_;
  int64_t begin = 0;
  for (size_t b = 0; b < buckets_.size(); ++b) {
    const Bucket& bucket = buckets_[b];
    if (bucket.frozen) continue;
    const int64_t own = own_size(bucket) / kChunk;
    const Tensor all = n.chunks.flat(begin, bucket.size / kChunk),
                 here = all.flat(own * mesh_.dp().rank(), own);
    begin += all.size();
    if (bucket.alias) continue;
    on_device(all.device(), [&](auto device) {
      kernels::chunk_square_sums(device, own_slice(b), kChunk, Out(here));
    });
    mesh_.dp().all_gather(here, all).wait();
  }
  on_device(n.total.device(), [&](auto device) {
    kernels::range_sums(device, n.chunks, n.ranges, Out(n.sums.flat(0, n.ranges.dim(0))));
  });
  mesh_.tp().all_reduce_sum(n.sums).wait();
  mesh_.pp().all_gather(n.sums, n.all_sums).wait();
  on_device(n.total.device(),
            [&](auto device) { kernels::ordered_sum(device, n.all_sums, n.order, Out(n.total)); });
  return n.total;
}

}  // namespace skein
