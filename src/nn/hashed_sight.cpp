#include "skein/nn/hashed_sight.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/philox.h"
#include "skein/kernels/hashing.h"
#include "skein/ops/math.h"

#include "row_choice.h"

namespace skein {
namespace {

using kernels::Pattern;
using Numbers = std::vector<int32_t>;

constexpr uint64_t kRotationKey = 0x726f74617465;

Tensor on(Device device, const Numbers& numbers, const Shape& shape) {
  return Tensor::from(numbers, shape).to(device);
}

// A token in the order of its sample and head. `group`: those with equal numbers may see each
// other.
struct Ordered {
  int32_t token, group, round;
};

class HashedRowsBuilder {
 public:
  HashedRowsBuilder(const SightSpec& spec, const Tensor& buckets, const Tensor& segments,
                    int64_t asked)
      : spec_(spec),
        buckets_(buckets),
        segments_(segments),
        samples_(buckets.dim(0)),
        length_(buckets.dim(1)),
        heads_(buckets.dim(2)),
        rounds_(buckets.dim(3)),
        asked_(asked),
        ahead_(spec.block),
        queries_(sets() * query_rows(), sets() * length_, rounds_),
        keys_(sets() * key_rows(), sets() * length_, rounds_ + 1),
        query_groups_(static_cast<size_t>(queries_.size()), -1),
        key_groups_(static_cast<size_t>(keys_.size()), -1),
        query_places_(static_cast<size_t>(queries_.size())),
        key_places_(static_cast<size_t>(keys_.size())),
        parts_(static_cast<size_t>(rounds_ * sets() * asked), -1) {}

  HashedRows built(bool causal, Device device) {
    for (set_ = 0; set_ < sets(); ++set_) add_set();
    HashedRows made{.queries = queries_.on(device),
                    .keys = keys_.on(device),
                    .query_rows = query_rows(),
                    .key_rows = key_rows(),
                    .pattern = pattern(causal, device),
                    .parts = on(device, parts_, {rounds_, sets() * asked_})};
    return made;
  }

 private:
  int64_t sets() const { return samples_ * heads_; }
  // Blocks see each other whole, so all queries take part.
  int64_t query_rows() const { return rounds_ * length_; }
  int64_t key_rows() const { return ahead_ + rounds_ * length_; }
  int64_t sample() const { return set_ / heads_; }
  int64_t head() const { return set_ % heads_; }
  // Among B*T*H rows.
  int64_t row_of(int64_t token) const { return (sample() * length_ + token) * heads_ + head(); }

  int32_t document(int64_t token) const {
    return segments_.defined() ? segments_.data<int32_t>()[sample() * length_ + token] : 0;
  }

  // Tokens that are no padding, each with what it is sorted by in the round.
  std::vector<std::pair<uint64_t, int32_t>> keyed(int64_t round) const {
    std::vector<std::pair<uint64_t, int32_t>> made;
    for (int64_t token = 0; token < length_; ++token) {
      const int32_t own = document(token),
                    bucket = buckets_.data<int32_t>()[row_of(token) * rounds_ + round];
      if (own >= 0)
        made.emplace_back(static_cast<uint64_t>(own) << 32 | static_cast<uint32_t>(bucket),
                          narrow<int32_t>(token));
    }
    return made;
  }

  void add_round(int64_t round, std::vector<Ordered>& order) const {
    auto tokens = keyed(round);
    std::ranges::sort(tokens);  // by place where the rest is equal
    for (const auto& [key, token] : tokens)
      order.push_back({token, static_cast<int32_t>(key >> 32), narrow<int32_t>(round)});
  }

  std::vector<Ordered> order() const {
    std::vector<Ordered> made;
    add_round(0, made);
    const bool one = std::ssize(made) <= spec_.block;
    for (int64_t round = 1; round < rounds_ && !one; ++round) add_round(round, made);
    return made;
  }

  void add_set() {
    const std::vector<Ordered> all = order();
    for (int64_t i = 0; i < std::ssize(all); ++i) {
      add_key(ahead_ + i, all[i], all[i].round);
      add_query(set_ * query_rows() + i, all[i]);
    }
    const int64_t count = std::ssize(all), last = (count - 1) / ahead_ * ahead_;
    if (count > ahead_)
      for (int64_t i = last; i < count; ++i) add_key(i - last, all[i], rounds_);
  }

  void add_key(int64_t at, const Ordered& one, int64_t use) {
    const int64_t to = set_ * key_rows() + at;
    keys_.take(to, row_of(one.token), use);
    key_groups_[to] = one.group;
    key_places_[to] = one.token;
  }

  void add_query(int64_t to, const Ordered& one) {
    queries_.take(to, row_of(one.token), one.round);
    query_groups_[to] = one.group;
    query_places_[to] = one.token;
    const int64_t token = one.token - (length_ - asked_);
    if (token >= 0)
      parts_[(one.round * samples_ * asked_ + sample() * asked_ + token) * heads_ + head()] =
          narrow<int32_t>(to);
  }

  Pattern pattern(bool causal, Device device) const {
    Pattern made = causal ? Pattern::causal() : Pattern::full();
    made.self_last = true;
    made.query_segments = on(device, query_groups_, {sets(), query_rows()});
    made.key_segments = on(device, key_groups_, {sets(), key_rows()});
    made.lists = neighbours();
    made.lists.starts = made.lists.starts.to(device);
    made.lists.blocks = made.lists.blocks.to(device);
    made.query_places = on(device, query_places_, {sets(), query_rows()});
    made.key_places = on(device, key_places_, {sets(), key_rows()});
    return made;
  }

  // Keys are a block ahead of queries: the one before it and its own.
  kernels::BlockLists neighbours() const {
    const int64_t blocks = (query_rows() + spec_.block - 1) / spec_.block;
    Numbers starts, listed;
    for (int64_t block = 0; block < blocks; ++block) {
      starts.push_back(narrow<int32_t>(2 * block));
      listed.push_back(narrow<int32_t>(block));
      listed.push_back(narrow<int32_t>(block + 1));
    }
    starts.push_back(narrow<int32_t>(2 * blocks));
    return {spec_.block, Tensor::from(starts, {1, blocks + 1}), Tensor::from(listed, {2 * blocks})};
  }

  const SightSpec& spec_;
  const Tensor &buckets_, &segments_;
  int64_t samples_, length_, heads_, rounds_;
  int64_t asked_;
  int64_t ahead_;  // keys ahead of those of the first query
  RowChoiceMaker queries_, keys_;
  Numbers query_groups_, key_groups_, query_places_, key_places_, parts_;
  int64_t set_ = 0;  // the sample and head at hand
};

// By sample and head, so that heads are streams of their own.
Tensor ids_of_sets(const Tensor& samples, int64_t heads, int64_t first_head) {
  const Tensor known = samples.to(Device{}),
               made = Tensor::empty({samples.size() * heads}, DType::i64);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<int64_t>()[i] = known.data<int64_t>()[i / heads] ^ (first_head + i % heads) << 48;
  return made.to(samples.device());
}

Var chosen(const Var& x, const ops::RowChoice& choice, int64_t rows) {
  const int64_t all = x.value().size() / x.shape()[3], sets = x.shape()[0] * x.shape()[2];
  return ops::reshape(ops::take_rows(ops::reshape(x, {1, all, x.shape()[3]}), choice),
                      {sets, rows, 1, x.shape()[3]});
}

}  // namespace

int64_t buckets_of(const SightSpec& spec) {
  return std::accumulate(spec.sides.begin(), spec.sides.end(), int64_t{1},
                         std::multiplies<int64_t>());
}

Tensor rotations_of(const SightSpec& spec, int block, int64_t first_head, int64_t heads,
                    int64_t width, Device device) {
  const int64_t planes = std::accumulate(spec.sides.begin(), spec.sides.end(), int64_t{0}) / 2,
                each = spec.rounds * width * planes;
  const Tensor made = Tensor::empty({heads, spec.rounds, width, planes}, DType::f32);
  for (int64_t head = 0; head < heads; ++head)
    fill_normal(kRotationKey,
                static_cast<uint64_t>(block) << 32 | static_cast<uint64_t>(first_head + head), 0,
                {made.data<float>() + head * each, static_cast<size_t>(each)});
  return made.to(device);
}

HashedRows hashed_rows(const SightSpec& spec, bool causal, const Tensor& buckets,
                       const Tensor& segments, int64_t asked, Device device) {
  SKEIN_CHECK(!spec.same_bucket && asked > 0 && asked <= buckets.dim(1));
  return HashedRowsBuilder(spec, buckets, segments, asked).built(causal, device);
}

HashedSight::HashedSight(const Parameters& parameters, const HashedSpec& spec)
    : spec_(spec),
      ones_{.value = Tensor::from(std::vector<float>(static_cast<size_t>(spec.head_width), 1.0f),
                                  {spec.head_width})
                         .to(parameters.dtype())
                         .to(parameters.device()),
            .gradient = {},
            .learns = false} {}

Tensor HashedSight::rotations(const Tensor& x, int64_t first_head) const {
  const bool kept = rotations_.defined() && first_head_ == first_head &&
                    rotations_.dim(0) == x.dim(2) && rotations_.device() == x.device();
  if (!kept)
    rotations_ = rotations_of(spec_.sight, spec_.block, first_head, x.dim(2), x.dim(3), x.device());
  first_head_ = first_head;
  return rotations_;
}

Pattern HashedSight::bucket_pattern() const {
  const int64_t window = spec_.sight.window;
  Pattern made = spec_.causal ? Pattern::window(window, true) : Pattern::full();
  if (!spec_.causal) made.before = made.after = window / 2;
  made.self_last = true;
  return made;
}

// Of all tokens, on the device.
HashedRows HashedSight::in_buckets(const Tensor& buckets, const Tensor& segments) const {
  const SightSpec& sight = spec_.sight;
  const int64_t sets = buckets.dim(0) * buckets.dim(2), rows = sight.rounds * buckets.dim(1);
  const Tensor taken = buckets.like({sets * rows}), back = buckets.like({sets * rows}),
               groups = buckets.like({sets, rows});
  on_device(buckets.device(), [&](auto device) {
    kernels::order_by_bucket(device, buckets, segments, buckets_of(sight), Out(taken), Out(back),
                             Out(groups));
  });
  HashedRows made{.queries = {taken, back},
                  .keys = {taken, back},
                  .query_rows = rows,
                  .key_rows = rows,
                  .pattern = bucket_pattern(),
                  .parts = back.reshape({sight.rounds, sets * buckets.dim(1)})};
  made.pattern.query_segments = made.pattern.key_segments = groups;
  return made;
}

Tensor HashedSight::buckets(const Tensor& x, int64_t first_head) const {
  const int64_t samples = x.dim(0), length = x.dim(1), heads = x.dim(2);
  const Tensor turns = rotations(x, first_head),
               made = x.like({samples, length, heads, spec_.sight.rounds}, DType::i32);
  on_device(x.device(), [&](auto device) {
    kernels::hash_buckets(device, x.reshape({samples * length, heads, x.dim(3)}), turns,
                          spec_.sight.sides, Out(made));
  });
  return made;
}

HashedRows HashedSight::order(const Tensor& buckets, const Tensor& segments, int64_t asked) const {
  SKEIN_CHECK(!spec_.sight.same_bucket || asked == buckets.dim(1));
  if (spec_.sight.same_bucket) return in_buckets(buckets, segments);
  return hashed_rows(spec_.sight, spec_.causal, buckets.to(Device{}),
                     segments.defined() ? segments.to(Device{}) : segments, asked,
                     buckets.device());
}

Var HashedSight::keys_of(const Var& q) const {
  return ops::norm(q, ops::Norm::rms, ones_, {}, 1e-6);
}

Var HashedSight::merged(const Chosen& rows, const Tensor& parts,
                        const ops::AttentionArguments& how) const {
  Var levels;
  const Var seen = ops::attention(rows.q, rows.k, rows.v, how, {}, &levels);
  const int64_t queries = seen.shape()[0] * seen.shape()[1];
  return ops::merge_rounds(ops::reshape(seen, {queries, seen.shape()[3]}),
                           ops::reshape(levels, {queries}), parts);
}

Var HashedSight::operator()(const Var& q, const Var& v, const HashedRows& rows,
                            const ops::AttentionArguments& given) const {
  const int64_t samples = q.shape()[0], heads = q.shape()[2], width = q.shape()[3];
  ops::AttentionArguments how = given;
  how.pattern = rows.pattern;
  how.first_head = 0;
  if (how.dropout > 0) how.sample_ids = ids_of_sets(given.sample_ids, heads, given.first_head);
  const Var k = keys_of(q);
  const Chosen taken{chosen(q, rows.queries, rows.query_rows), chosen(k, rows.keys, rows.key_rows),
                     chosen(v, rows.keys, rows.key_rows)};
  const Var made = merged(taken, rows.parts, how);
  return ops::reshape(made, {samples, made.shape()[0] / (samples * heads), heads, width});
}

double hashed_keys_per_query(const SightSpec& spec, bool causal, int64_t length) {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const int64_t buckets = buckets_of(spec);
  if (!spec.same_bucket) {
    const double seen = number(std::min(length, 2 * spec.block));
    return (length <= spec.block ? 1 : number(spec.rounds)) * (causal ? seen / 2 : seen);
  }
  const double bucket = std::max(1.0, number(length) / number(buckets)),
               window = std::min(bucket, number(spec.window));
  // Of a bucket's tokens the n-th sees n, up to the window.
  const double before = window * (1 - window / (2 * bucket));
  return number(spec.rounds) * (causal ? before : window);
}

}  // namespace skein
