// Invariants of a step's sums, bucket by bucket.
//
// Gradients: from begin_step() to the end of a group's last micro-batch they hold the left fold
// over the group's samples so far, in sample order: micro-batches run backward in that order at
// every schedule. end_group() then moves the fold into the tree; strided, what ranks have made of
// their folds. A micro-batch's subtree of several groups (ops/sample_groups.h) stands here for one.
// With g groups done, level l of `pending` holds a subtree exactly where bit l of g is set; after
// the last group the gradients hold the whole subtree of this rank (strided, their own slice the
// sum over ranks), and nobody adds to them until the next step.
//
// So a bucket's own events are in order: its groups end 0, 1, 2, ..., once each, however often and
// from wherever the end is told; then finish() reduces it. Buckets do not wait for each other
// before the uses of one tensor meet there. All ranks that hold a bucket end its groups in one
// order among those of others, which schedule and model give, and reduce buckets by their numbers.
//
// Sums: over data-parallel ranks the tree goes on, since each rank holds an aligned subtree of it;
// over shards each element is added in rank order; over the uses of a tied tensor in their order.
// From finish(false) on only the own slice is final, from finish(true) on all of it.
#include "skein/parallel/buckets.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <sstream>

#include "skein/core/numbers.h"
#include "skein/core/where.h"
#include "skein/kernels/elementwise.h"
#include "skein/ops/sample_groups.h"
#include "skein/parallel/ordered_sum.h"

namespace skein {

Buckets::Buckets(Parameters& parameters, Mesh& mesh, const Sums& sums)
    : mesh_(mesh), how_(sums), sums_(sums.most) {
  SKEIN_CHECK(sums.most > 0);
  build(parameters);
  find_ties(parameters);
  for (Bucket& bucket : buckets_)
    if (!bucket.alias)
      bucket.values = Tensor::zeros({bucket.size}, parameters.dtype(), parameters.device());
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
    Bucket& bucket = buckets_[p.bucket];
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

// Every stage tells what it uses; all find the same.
void Buckets::find_ties(const Parameters& parameters) {
  std::string own;
  for (const Parameter& p : parameters.all()) own += fmt::format("{} {}\n", p.use, p.tensor());
  std::map<std::string, std::vector<Use>> uses;  // by tensor
  int stage = 0;
  for (const std::string& told : mesh_.pp().all_gather(own)) {
    std::istringstream lines(told);
    auto here = parameters.all().begin();
    std::string tensor;
    for (Use use{0, stage, -1}; lines >> use.number && lines.get() && getline(lines, tensor);) {
      use.bucket = stage == mesh_.stage() ? here++->bucket : -1;
      uses[tensor].push_back(use);
    }
    ++stage;
  }
  for (auto& [tensor, all] : uses) {
    const bool used_here =
        std::any_of(all.begin(), all.end(), [](const Use& use) { return use.bucket >= 0; });
    if (all.size() > 1 && used_here) ties_.push_back(tie_of(tensor, std::move(all)));
  }
}

Buckets::Tie Buckets::tie_of(const std::string& tensor, std::vector<Use> uses) {
  std::sort(uses.begin(), uses.end(),
            [](const Use& left, const Use& right) { return left.number < right.number; });
  Tie made;
  std::set<int> peers;
  for (size_t i = 0; i < uses.size(); ++i) {
    const Use& use = uses[i];
    if (use.number != static_cast<int>(i) + 1)
      throw Error(ExitCode::internal, fmt::format("use {} of {} of {} is declared as number {}",
                                                  i + 1, uses.size(), tensor, use.number));
    if (use.bucket < 0) {
      peers.insert(use.stage);
      continue;
    }
    Bucket& bucket = buckets_[use.bucket];
    SKEIN_CHECK_EQ(bucket.members.size(), size_t{1});
    bucket.alias = made.home >= 0;
    if (bucket.alias) bucket.home = made.home;
    if (made.home < 0) made.home = use.bucket;
  }
  made.uses = std::move(uses);
  made.peers.assign(peers.begin(), peers.end());
  buckets_[static_cast<size_t>(made.home)].shared = !peers.empty();
  return made;
}

void Buckets::allocate(Bucket& bucket, Parameters& parameters) {
  const DType sums = gradient_dtype(parameters.dtype());
  const Device device = parameters.device();
  const int levels = bucket.frozen ? 0 : std::bit_width(static_cast<unsigned>(how_.most - 1));
  if (!bucket.frozen) bucket.gradients = Tensor::zeros({bucket.size}, sums, device);
  for (int level = 0; level < levels; ++level)
    bucket.pending.push_back(
        Tensor::empty({how_.strided ? own_size(bucket) : bucket.size}, sums, device));
  for (const Member& member : bucket.members) {
    Parameter& p = *member.parameter;
    if (!bucket.frozen)
      p.gradient = bucket.gradients.flat(member.begin, p.local.size()).reshape(p.local);
    const Tensor& values = bucket.alias ? buckets_[bucket.home].values : bucket.values;
    p.value = values.flat(member.begin, p.local.size()).reshape(p.local);
  }
}

void Buckets::begin_step(int sums) {
  SKEIN_CHECK(sums > 0 && sums <= how_.most);
  sums_ = sums;
  for (const Bucket& bucket : buckets_)
    if (!bucket.frozen) bucket.gradients.fill_zero();
}

void Buckets::end_group(int group, int chunk, int from) {
  for (size_t b = buckets_.size(); b-- > static_cast<size_t>(from);) {
    Bucket& bucket = buckets_[b];
    if (bucket.chunk != chunk || bucket.frozen || bucket.groups_done > group) continue;
    SKEIN_CHECK_EQ(bucket.groups_done, group);
    if (how_.strided || sums_ > 1) add_group(bucket);
    ++bucket.groups_done;
  }
}

// Level l of `pending` holds a finished subtree of 2^l sums that waits for its right twin, or for
// the last sum.
void Buckets::add_group(Bucket& bucket) {
  const bool last = bucket.groups_done + 1 == sums_;
  Tensor kept = bucket.gradients, sum = kept;
  if (how_.strided) {
    const WhereScope here = WhereScope::part(bucket.name.c_str());
    kept = own_part(bucket, bucket.gradients);
    sum = Tensor::empty(kept.shape(), kept.dtype(), kept.device());
    sum_slices(bucket, sum);
  }
  const ops::Subtree made = ops::Subtree::joined(
      bucket.pending, static_cast<unsigned>(bucket.groups_done), last, std::move(sum));
  if (last) return kept.copy_from(made.sum);
  bucket.pending[made.level].copy_from(made.sum);
  bucket.gradients.fill_zero();
}

// own: what all ranks' gradients of the own slice make.
void Buckets::sum_slices(const Bucket& bucket, const Tensor& own) const {
  if (!how_.ordered || own.device().kind == DeviceKind::cpu)
    mesh_.dp().reduce_scatter(bucket.gradients, own).wait();
  else
    ordered_reduce_scatter(mesh_.dp(), bucket.gradients, own);
}

void Buckets::reduce(const Bucket& bucket) {
  if (bucket.frozen) return;
  const WhereScope here = WhereScope::part(bucket.name.c_str());
  if (!how_.strided && mesh_.dp().size() > 1) {
    const Tensor own = own_part(bucket, bucket.gradients),
                 sums = Tensor::empty(own.shape(), own.dtype(), own.device());
    sum_slices(bucket, sums);
    own.copy_from(sums);
  }
  sum_over_shards(bucket);
}

void Buckets::finish(bool everywhere) {
  for (const Bucket& bucket : buckets_) reduce(bucket);
  for (const Tie& tie : ties_) sum_uses(tie);
  for (Bucket& bucket : buckets_) {
    bucket.groups_done = 0;
    if (everywhere && mesh_.dp().size() > 1 && !bucket.frozen) gather(bucket, bucket.gradients);
  }
}

void Buckets::gather(const Bucket& bucket, const Tensor& whole) const {
  if (bucket.alias) return;
  const WhereScope here = WhereScope::part(bucket.name.c_str());
  mesh_.dp().all_gather(own_part(bucket, whole), whole).wait();
}

// Of what each shard has seen a part of only: norms and biases, in one exchange.
void Buckets::sum_over_shards(const Bucket& bucket) {
  if (mesh_.tp().size() == 1) return;
  const WhereScope here = WhereScope::part(bucket.name.c_str());
  const int64_t own = own_begin(bucket), end = own + own_size(bucket);
  std::vector<Tensor> parts;
  int64_t size = 0;
  for (const Member& member : bucket.members) {
    if (!member.parameter->sum_over_shards) continue;
    const int64_t begin = std::max(own, member.begin),
                  stop = std::min(end, member.begin + member.valid);
    if (begin >= stop) continue;
    parts.push_back(bucket.gradients.flat(begin, stop - begin));
    size += stop - begin;
  }
  if (parts.empty()) return;
  const Tensor together = parts[0].like({size});
  const auto each = [&](const auto& use) {
    int64_t at = 0;
    for (const Tensor& part : parts)
      use(part, together.flat(std::exchange(at, at + part.size()), part.size()));
  };
  each([](const Tensor& part, const Tensor& place) { place.copy_from(part); });
  mesh_.tp().all_reduce_sum(together).wait();
  each([](const Tensor& part, const Tensor& place) { part.copy_from(place); });
}

// Each stage that has a use adds all of them, first + second + ..., so their copies stay equal to
// the bit.
void Buckets::sum_uses(const Tie& tie) {
  constexpr int kTag = 1 << 20;
  const Bucket& home = buckets_[tie.home];
  if (home.frozen) return;
  const WhereScope here = WhereScope::part(home.name.c_str());
  const Tensor own = own_part(home, home.gradients);
  std::vector<Tensor> parts;
  std::vector<Work> moves;
  for (const Use& use : tie.uses) {
    const bool held = use.bucket >= 0;
    parts.push_back(held ? own_part(home, buckets_[use.bucket].gradients)
                         : Tensor::empty(own.shape(), own.dtype(), own.device()));
    for (int peer : tie.peers)
      if (held) moves.push_back(mesh_.pp().send(parts.back(), peer, kTag));
  }
  for (size_t i = 0; i < parts.size(); ++i)
    if (tie.uses[i].bucket < 0) moves.push_back(mesh_.pp().recv(parts[i], tie.uses[i].stage, kTag));
  for (Work& move : moves) move.wait();
  on_device(own.device(), [&](auto device) {
    for (size_t i = 1; i < parts.size(); ++i) kernels::accumulate(device, parts[i], Out(parts[0]));
  });
  if (tie.uses.front().bucket < 0) own.copy_from(parts[0]);
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
