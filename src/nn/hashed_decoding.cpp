// Attention in buckets of the last tokens of a cache, whose buckets' numbers it keeps.
#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/kernels/embedding.h"
#include "skein/kernels/reduce.h"
#include "skein/nn/hashed_sight.h"

namespace skein {
namespace {

// Of B*H sets, in host memory. rows: of [B,S,H], -1: none; groups: those with equal numbers may see
// each other, -1: none; order: in the set, by round, bucket and place.
struct SetRows {
  SetRows(int64_t sets, int64_t each)
      : rows(Tensor::empty({sets, each}, DType::i32)),
        groups(rows.like()),
        order(Tensor::zeros(rows.shape(), DType::i32)),
        positions(Tensor::zeros(rows.shape(), DType::i32)) {
    std::ranges::fill(rows.span<int32_t>(), -1);
    std::ranges::fill(groups.span<int32_t>(), -1);
  }
  Tensor rows, groups, order, positions;
};

// Which keys the last tokens of a cache's rows see: of each bucket that one of them is in those
// that are asked, and a window before the first.
class NearestInBuckets {
 public:
  // buckets [B,S,H,R] and begins [B] in host memory; `length` columns are filled.
  NearestInBuckets(const SightSpec& spec, const Tensor& buckets, const Tensor& begins,
                   int64_t length, int64_t asked)
      : spec_(spec),
        buckets_(buckets),
        begins_(begins),
        columns_(buckets.dim(1)),
        heads_(buckets.dim(2)),
        rounds_(buckets.dim(3)),
        length_(length),
        asked_(asked),
        queries_(buckets.dim(0) * heads_, rounds_ * asked),
        keys_(buckets.dim(0) * heads_, rounds_ * std::min(length, asked * spec.window)),
        parts_(Tensor::empty({rounds_, buckets.dim(0) * asked * heads_}, DType::i32)) {
    std::ranges::fill(parts_.span<int32_t>(), -1);
    for (set_ = 0; set_ < buckets.dim(0) * heads_; ++set_) add_set();
  }

  const SetRows& queries() const { return queries_; }
  const SetRows& keys() const { return keys_; }
  const Tensor& parts() const { return parts_; }

 private:
  struct Token {
    int32_t bucket, column;
    auto operator<=>(const Token&) const = default;
  };

  int64_t sample() const { return set_ / heads_; }
  int64_t begin() const { return begins_.data<int32_t>()[sample()]; }
  int64_t row_of(int64_t column) const {
    return (sample() * columns_ + column) * heads_ + set_ % heads_;
  }

  void add_set() {
    order_ = 0;
    query_ = set_ * queries_.rows.dim(1);
    for (int64_t round = 0; round < rounds_; ++round) add_round(round);
  }

  void find_tokens(int64_t round) {
    const int32_t* buckets = buckets_.data<int32_t>() + round;
    left_.assign(static_cast<size_t>(buckets_of(spec_)), 0);
    found_.clear();
    int64_t wanted = 0;  // the sum of left_
    for (int64_t column = length_ - 1; column >= begin(); --column) {
      const bool asks = column >= length_ - asked_;
      if (!asks && wanted == 0) break;
      const int32_t bucket = buckets[row_of(column) * rounds_];
      int64_t& left = left_[static_cast<size_t>(bucket)];
      if (!asks && left == 0) continue;
      const int64_t after = asks ? spec_.window - 1 : left - 1;
      wanted += after - left;
      left = after;
      found_.push_back({bucket, narrow<int32_t>(column)});
    }
    std::ranges::sort(found_);
  }

  void add_round(int64_t round) {
    find_tokens(round);
    int32_t group = 0;
    for (size_t i = 0; i < found_.size(); ++i, ++order_) {
      const int64_t column = found_[i].column;
      if (i == 0 || found_[i].bucket != found_[i - 1].bucket) group = order_;
      put(keys_, set_ * keys_.rows.dim(1) + order_, column, group);
      const int64_t asked = column - (length_ - asked_);
      if (asked < 0) continue;
      parts_.data<int32_t>()[((round * begins_.size() + sample()) * asked_ + asked) * heads_ +
                             set_ % heads_] = narrow<int32_t>(query_);
      put(queries_, query_++, column, group);
    }
  }

  void put(const SetRows& to, int64_t at, int64_t column, int32_t group) const {
    to.rows.data<int32_t>()[at] = narrow<int32_t>(row_of(column));
    to.groups.data<int32_t>()[at] = group;
    to.order.data<int32_t>()[at] = order_;
    to.positions.data<int32_t>()[at] = narrow<int32_t>(column - begin());
  }

  const SightSpec& spec_;
  const Tensor &buckets_, &begins_;
  int64_t columns_, heads_, rounds_, length_, asked_;
  SetRows queries_, keys_;
  Tensor parts_;
  // At hand: a set, how many keys it has, the next query's row, what a round found, and how many
  // more of each bucket it looks for.
  int64_t set_ = 0;
  int32_t order_ = 0;
  int64_t query_ = 0;
  std::vector<Token> found_;
  std::vector<int64_t> left_;
};

// Of x [B,S,H,D]: [sets,rows,1,D].
Tensor taken(const Tensor& x, const Tensor& rows) {
  const int64_t width = x.dim(3);
  const Tensor made = x.like({rows.dim(0), rows.dim(1), 1, width});
  on_device(x.device(), [&](auto device) {
    kernels::embedding(device, x.reshape({-1, width}), rows.to(x.device()), 0, Out(made));
  });
  return made;
}

}  // namespace

// Buckets of all that the layer has are made where rows have moved, too.
void HashedSight::append(KvCache& cache, const Tensor& x, const Tensor& v,
                         int64_t first_head) const {
  cache.append(spec_.block, x, v);
  KvCache::Layer& layer = cache.layers[spec_.block];
  if (!layer.buckets.defined()) {
    layer.buckets = buckets(layer.keys, first_head);
    return;
  }
  const Tensor made = buckets(x, first_head);
  on_device(x.device(), [&](auto device) {
    kernels::copy_positions(device, made, 0, made.dim(1), cache.length, Out(layer.buckets));
  });
}

Tensor HashedSight::decode(const KvCache& cache, int64_t asked, const kernels::RotaryWaves* waves,
                           const ops::AttentionArguments& given) const {
  const KvCache::Layer& layer = cache.layers[spec_.block];
  const Device device = layer.keys.device();
  SKEIN_CHECK(spec_.sight.same_bucket && layer.first == 0);
  const Tensor buckets = layer.buckets.to(Device{}), begins = cache.first_key.to(Device{});
  const NearestInBuckets found(spec_.sight, buckets, begins, cache.length + asked, asked);
  const auto turned = [&](const SetRows& rows) {
    const Var made(taken(layer.keys, rows.rows));
    return waves ? ops::rotary(made, rows.positions.to(device), *waves) : made;
  };
  ops::AttentionArguments how = given;
  how.first_head = 0;
  how.pattern = bucket_pattern();
  how.pattern.query_segments = found.queries().groups.to(device);
  how.pattern.key_segments = found.keys().groups.to(device);
  how.pattern.query_places = found.queries().order.to(device);
  how.pattern.key_places = found.keys().order.to(device);
  const Chosen rows{turned(found.queries()), keys_of(turned(found.keys())),
                    Var(taken(layer.values, found.keys().rows))};
  return merged(rows, found.parts().to(device), how)
      .value()
      .reshape({begins.size(), asked, layer.keys.dim(2), layer.keys.dim(3)});
}

}  // namespace skein
