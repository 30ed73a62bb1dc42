#include "skein/parallel/buckets.h"

#include <algorithm>
#include <bit>

#include "skein/core/where.h"
#include "skein/kernels/elementwise.h"

namespace skein {
namespace {

int64_t rounded_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Buckets::Buckets(Parameters& parameters, Mesh& mesh, int groups_per_rank)
    : mesh_(mesh), groups_per_rank_(groups_per_rank) {
  SKEIN_CHECK(std::has_single_bit(static_cast<unsigned>(groups_per_rank)));
  build(parameters);
  find_ties(parameters);
  for (Bucket& bucket : buckets_) allocate(bucket, parameters);
  plan_norm(parameters.device());
}

void Buckets::build(Parameters& parameters) {
  for (Parameter& p : parameters.all()) {
    auto found = std::find_if(buckets_.begin(), buckets_.end(),
                              [&](const Bucket& b) { return b.name == p.bucket; });
    if (found == buckets_.end()) {
      buckets_.push_back({});
      found = buckets_.end() - 1;
      found->name = p.bucket;
      found->chunk = p.chunk;
      found->frozen = !p.learns;
    }
    SKEIN_CHECK_EQ(found->frozen, !p.learns);
    found->members.push_back({&p, found->size, p.valid_size()});
    found->size += rounded_up(p.local.size(), kChunk);
    if (p.chunk >= static_cast<int>(groups_done_.size()))
      groups_done_.resize(static_cast<size_t>(p.chunk) + 1, 0);
  }
  for (Bucket& bucket : buckets_) bucket.size = rounded_up(bucket.size, kChunk * mesh_.dp().size());
}

void Buckets::find_ties(Parameters& parameters) {
  for (Bucket& bucket : buckets_) {
    const Parameter& p = *bucket.members.front().parameter;
    Parameter* first_use = p.tied() ? parameters.find(p.tied_to) : nullptr;
    if (!first_use) continue;
    SKEIN_CHECK_EQ(bucket.members.size(), size_t{1});
    bucket.alias = true;
    for (size_t b = 0; b < buckets_.size(); ++b)
      if (buckets_[b].name == first_use->bucket) bucket.tied_bucket = static_cast<int>(b);
  }
  tied_over_stages_ =
      mesh_.pp().size() > 1 &&
      mesh_.pp().any(std::any_of(buckets_.begin(), buckets_.end(), [](const Bucket& bucket) {
        return !bucket.frozen && bucket.members.front().parameter->tied();
      }));
}

void Buckets::allocate(Bucket& bucket, Parameters& parameters) {
  const DType sums = gradient_dtype(parameters.dtype());
  const Device device = parameters.device();
  if (!bucket.alias) bucket.values = Tensor::zeros({bucket.size}, parameters.dtype(), device);
  const int levels = bucket.frozen ? 0 : std::countr_zero(static_cast<unsigned>(groups_per_rank_));
  if (!bucket.frozen) bucket.gradients = Tensor::zeros({bucket.size}, sums, device);
  for (int level = 0; level < levels; ++level)
    bucket.pending.push_back(Tensor::empty({bucket.size}, sums, device));
  for (const Member& member : bucket.members) {
    Parameter& p = *member.parameter;
    if (!bucket.frozen)
      p.gradient = bucket.gradients.flat(member.begin, p.local.size()).reshape(p.local);
    const Tensor& values =
        bucket.alias ? buckets_[static_cast<size_t>(bucket.tied_bucket)].values : bucket.values;
    p.value = values.flat(member.begin, p.local.size()).reshape(p.local);
  }
}

void Buckets::zero_gradients() {
  for (const Bucket& bucket : buckets_)
    if (!bucket.frozen) bucket.gradients.fill_zero();
}

// A binary counter: level l of `pending` holds a finished subtree of 2^l groups waiting for its
// right twin.
void Buckets::end_group(int chunk) {
  if (groups_per_rank_ == 1) return;
  int& done = groups_done_[static_cast<size_t>(chunk)];
  const bool last = done + 1 == groups_per_rank_;
  for (Bucket& bucket : buckets_) {
    if (bucket.chunk != chunk || bucket.frozen) continue;
    on_device(bucket.gradients.device(), [&](auto device) {
      Tensor sum = bucket.gradients;
      int level = 0;
      for (; done >> level & 1; ++level) {
        kernels::accumulate(device, sum, bucket.pending[static_cast<size_t>(level)]);
        sum = bucket.pending[static_cast<size_t>(level)];
      }
      if (last) {
        bucket.gradients.copy_from(sum);
      } else {
        bucket.pending[static_cast<size_t>(level)].copy_from(sum);
        bucket.gradients.fill_zero();
      }
    });
  }
  done = last ? 0 : done + 1;
}

void Buckets::reduce_over_data(Bucket& bucket) {
  if (mesh_.dp().size() == 1 || bucket.frozen) return;
  const Within here = Within::part(bucket.name.c_str());
  Tensor own =
      Tensor::empty({own_size(bucket)}, bucket.gradients.dtype(), bucket.gradients.device());
  mesh_.dp().reduce_scatter(bucket.gradients, own).wait();
  bucket.gradients.flat(own_begin(bucket), own_size(bucket)).copy_from(own);
}

void Buckets::reduce(bool everywhere) {
  for (Bucket& bucket : buckets_) reduce_over_data(bucket);
  sum_over_shards();
  sum_tied();
  if (!everywhere || mesh_.dp().size() == 1) return;
  for (Bucket& bucket : buckets_)
    if (!bucket.frozen) gather(bucket, bucket.gradients);
}

void Buckets::gather(const Bucket& bucket, const Tensor& whole) {
  if (bucket.alias) return;
  const Within here = Within::part(bucket.name.c_str());
  mesh_.dp().all_gather(whole.flat(own_begin(bucket), own_size(bucket)), whole).wait();
}

void Buckets::sum_over_shards() {
  if (mesh_.tp().size() == 1) return;
  for (const Bucket& bucket : buckets_) {
    const Within here = Within::part(bucket.name.c_str());
    const int64_t own = own_begin(bucket), end = own + own_size(bucket);
    for (const Member& member : bucket.members) {
      if (bucket.frozen || !member.parameter->sum_over_shards) continue;
      const int64_t begin = std::max(own, member.begin),
                    stop = std::min(end, member.begin + member.valid);
      if (begin < stop)
        mesh_.tp().all_reduce_sum(bucket.gradients.flat(begin, stop - begin)).wait();
    }
  }
}

void Buckets::sum_tied() {
  for (Bucket& bucket : buckets_) {
    if (bucket.frozen) continue;
    if (bucket.alias) {
      const Tensor into = buckets_[static_cast<size_t>(bucket.tied_bucket)].gradients;
      on_device(into.device(),
                [&](auto device) { kernels::accumulate(device, bucket.gradients, into); });
    } else if (tied_over_stages_ && bucket.members.front().parameter->tied()) {
      exchange_tied(bucket, 0, false);
    } else if (tied_over_stages_ && mesh_.first_stage() && bucket.name == "embedding.tokens") {
      exchange_tied(bucket, mesh_.pp().size() - 1, true);
    }
  }
}

// Both stages add first use + second use, so both copies stay equal to the bit.
void Buckets::exchange_tied(Bucket& bucket, int peer_stage, bool first_use) {
  constexpr int kTag = 1 << 20;
  const Within here = Within::part(bucket.name.c_str());
  const Tensor own = bucket.gradients.flat(own_begin(bucket), own_size(bucket));
  Tensor theirs = Tensor::empty(own.shape(), own.dtype(), own.device());
  Work sent = mesh_.pp().send(own, peer_stage, kTag);
  mesh_.pp().recv(theirs, peer_stage, kTag).wait();
  sent.wait();
  const Tensor& left = first_use ? own : theirs;
  const Tensor& right = first_use ? theirs : own;
  on_device(own.device(), [&](auto device) { kernels::add(device, left, right, own); });
}

void Buckets::values_changed() {
  for (const Bucket& bucket : buckets_)
    for (const Member& member : bucket.members)
      if (member.parameter->packed) member.parameter->packed->forget();
}

void Buckets::gather_values(bool frozen_too) {
  if (mesh_.dp().size() == 1) return;
  for (Bucket& bucket : buckets_)
    if (frozen_too || !bucket.frozen) gather(bucket, bucket.values);
}

}  // namespace skein
