// Invariants of a step's sums, bucket by bucket.
//
// Gradients: from zero_gradients() to the end of a group's last micro-batch they hold the left fold
// over the group's samples so far, in sample order: micro-batches run backward in that order at
// every schedule. end_group() then moves the fold into the tree. With g groups done, level l of
// `pending` holds a subtree exactly where bit l of g is set; after the last group the gradients
// hold the whole subtree of this rank, and nobody adds to them until the next step.
//
// So a bucket's own events are in order: its groups end 0, 1, 2, ..., once each, however often and
// from wherever the end is told; then it is reduced once, by whoever asks first; then finish().
// Buckets do not wait for each other before finish(), where uses of one tensor meet. All ranks that
// hold a bucket complete, and so reduce, their buckets in one order, which schedule and model give.
//
// Sums: over data-parallel ranks the tree goes on, since each rank holds an aligned subtree of it;
// over shards each element is added in rank order; over the uses of a tied tensor in their order.
// From reduce() on only the own slice is final, from finish(true) on all of it.
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
  for (const BucketSpec& spec : parameters.buckets()) {
    Bucket& made = buckets_.emplace_back();
    made.name = spec.name;
    made.chunk = spec.chunk;
  }
  for (Parameter& p : parameters.all()) {
    Bucket& bucket = buckets_[static_cast<size_t>(p.bucket)];
    if (bucket.members.empty()) bucket.frozen = !p.learns;
    SKEIN_CHECK_EQ(bucket.frozen, !p.learns);
    bucket.members.push_back({&p, bucket.size, p.valid_size()});
    bucket.size += rounded_up(p.local.size(), kChunk);
  }
  for (Bucket& bucket : buckets_) {
    SKEIN_CHECK(!bucket.members.empty());
    bucket.size = rounded_up(bucket.size, kChunk * mesh_.dp().size());
  }
}

void Buckets::find_ties(Parameters& parameters) {
  for (Bucket& bucket : buckets_) {
    const Parameter& p = *bucket.members.front().parameter;
    Parameter* first_use = p.tied() ? parameters.find(p.tied_to) : nullptr;
    if (!first_use) continue;
    SKEIN_CHECK_EQ(bucket.members.size(), size_t{1});
    bucket.alias = true;
    bucket.tied_bucket = first_use->bucket;
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

std::vector<size_t> Buckets::end_group(int group, int chunk, int from) {
  std::vector<size_t> complete;
  for (size_t b = buckets_.size(); b-- > static_cast<size_t>(from);) {
    Bucket& bucket = buckets_[b];
    if (bucket.chunk != chunk || bucket.frozen || bucket.groups_done > group) continue;
    SKEIN_CHECK_EQ(bucket.groups_done, group);
    if (groups_per_rank_ > 1) add_group(bucket);
    if (++bucket.groups_done == groups_per_rank_) complete.push_back(b);
  }
  return complete;
}

// A binary counter: level l of `pending` holds a finished subtree of 2^l groups waiting for its
// right twin.
void Buckets::add_group(Bucket& bucket) {
  const int done = bucket.groups_done;
  on_device(bucket.gradients.device(), [&](auto device) {
    Tensor sum = bucket.gradients;
    int level = 0;
    for (; done >> level & 1; ++level) {
      kernels::accumulate(device, sum, bucket.pending[static_cast<size_t>(level)]);
      sum = bucket.pending[static_cast<size_t>(level)];
    }
    if (done + 1 == groups_per_rank_) {
      bucket.gradients.copy_from(sum);
    } else {
      bucket.pending[static_cast<size_t>(level)].copy_from(sum);
      bucket.gradients.fill_zero();
    }
  });
}

Work Buckets::reduce(size_t number) {
  Bucket& bucket = buckets_[number];
  bucket.reduced = true;
  if (bucket.frozen) return {};
  const Within here = Within::part(bucket.name.c_str());
  const Tensor own = own_part(bucket, bucket.gradients);
  if (mesh_.dp().size() == 1) return Work([this, number] { sum_over_shards(buckets_[number]); });
  const Tensor sums = Tensor::empty(own.shape(), own.dtype(), own.device());
  Work summed = mesh_.dp().reduce_scatter(bucket.gradients, sums);
  return Work([this, number, own, sums, summed]() mutable {
    summed.wait();
    own.copy_from(sums);
    sum_over_shards(buckets_[number]);
  });
}

void Buckets::finish(bool everywhere) {
  for (size_t b = 0; b < buckets_.size(); ++b)
    if (!buckets_[b].reduced) reduce(b).wait();
  sum_tied();
  for (Bucket& bucket : buckets_) {
    bucket.groups_done = 0;
    bucket.reduced = false;
    if (everywhere && mesh_.dp().size() > 1 && !bucket.frozen) gather(bucket, bucket.gradients);
  }
}

void Buckets::gather(const Bucket& bucket, const Tensor& whole) {
  if (bucket.alias) return;
  const Within here = Within::part(bucket.name.c_str());
  mesh_.dp().all_gather(own_part(bucket, whole), whole).wait();
}

// Of what each shard has seen a part of only.
void Buckets::sum_over_shards(const Bucket& bucket) {
  if (mesh_.tp().size() == 1) return;
  const Within here = Within::part(bucket.name.c_str());
  const int64_t own = own_begin(bucket), end = own + own_size(bucket);
  for (const Member& member : bucket.members) {
    if (!member.parameter->sum_over_shards) continue;
    const int64_t begin = std::max(own, member.begin),
                  stop = std::min(end, member.begin + member.valid);
    if (begin < stop) mesh_.tp().all_reduce_sum(bucket.gradients.flat(begin, stop - begin)).wait();
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
  const Tensor own = own_part(bucket, bucket.gradients);
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
