#include <algorithm>
#include <sstream>

#include "skein/core/where.h"
#include "skein/kernels/reduce.h"
#include "skein/parallel/buckets.h"

namespace skein {

namespace {

// Its own slice enters the norm: once where several uses are here.
bool enters_norm(const Buckets::Bucket& bucket) { return !bucket.frozen && !bucket.alias; }

}  // namespace

// Where each parameter's chunks lie among the own slices of all data-parallel ranks, and where its
// sum is among those of all stages.
void Buckets::plan_norm(Device device) {
  std::vector<int64_t> ranges, order;
  std::string names;
  int64_t chunks = 0;  // of this rank
  for (const Bucket& bucket : buckets_) {
    if (!enters_norm(bucket)) continue;
    const int64_t part = own_size(bucket) / kChunk;
    for (const Member& member : bucket.members) {
      if (member.parameter->tied()) continue;
      const int64_t begin = member.begin / kChunk,
                    count = member.parameter->counts ? (member.valid + kChunk - 1) / kChunk : 0;
      ranges.insert(ranges.end(), {begin, begin + count, part, chunks});
      names += member.parameter->name + "\n";
    }
    chunks += part;
  }
  const auto own = static_cast<int64_t>(ranges.size() / 4), most = mesh_.pp().max(own);
  std::vector<std::pair<std::string, int64_t>> sums;  // by name, among the sums of all stages
  int64_t stage = 0;
  for (const std::string& text : mesh_.pp().all_gather(names)) {
    int64_t at = stage++ * most;
    std::istringstream lines(text);
    for (std::string name; std::getline(lines, name);) sums.emplace_back(name, at++);
  }
  std::sort(sums.begin(), sums.end());
  for (const auto& [name, at] : sums) order.push_back(at);
  norm_.chunks = Tensor::empty({mesh_.dp().size(), chunks}, DType::f64, device);
  norm_.ranges = Tensor::from(ranges, {own, 4}).to(device);
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
  const int64_t chunks = n.chunks.dim(1);
  const Tensor own = n.chunks.flat(mesh_.dp().rank() * chunks, chunks);
  int64_t begin = 0;
  for (size_t b = 0; b < buckets_.size(); ++b) {
    if (!enters_norm(buckets_[b])) continue;
    const int64_t count = own_size(buckets_[b]) / kChunk;
    on_device(own.device(), [&](auto device) {
      kernels::chunk_square_sums(device, own_slice(b), kChunk, Out(own.flat(begin, count)));
    });
    begin += count;
  }
  mesh_.dp().all_gather(own, n.chunks).wait();
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
