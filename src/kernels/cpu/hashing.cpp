#include "skein/kernels/hashing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "skein/core/profile.h"

#include "parallel.h"
#include "vector.h"

namespace skein::kernels {
namespace {

// The number of the largest of `count` products and of their negatives behind them.
template <class A>
int32_t largest_side(const A* products, int64_t count) {
  int64_t most = 0, least = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (products[i] > products[most]) most = i;
    if (products[i] < products[least]) least = i;
  }
  const bool ahead = products[most] >= -products[least];
  return static_cast<int32_t>(ahead ? most : count + least);
}

template <class A>
int32_t bucket_of(const A* products, const std::vector<int64_t>& sides) {
  int64_t made = 0, weight = 1;
  for (const int64_t side : sides) {
    made += weight * largest_side(products, side / 2);
    products += side / 2;
    weight *= side;
  }
  return static_cast<int32_t>(made);
}

// products [planes] of a vector and the columns of rotations [width, planes].
template <class T>
void project(const T* x, int64_t width, const float* rotations, std::vector<Accumulator<T>>& to) {
  const auto planes = static_cast<int64_t>(to.size());
  std::fill(to.begin(), to.end(), Accumulator<T>{});
  Accumulator<T>* const sums = to.data();
  for (int64_t d = 0; d < width; ++d) {
    const Accumulator<T> value = load(x + d);
    const float* row = rotations + d * planes;
    for (int64_t p = 0; p < planes; ++p) sums[p] += value * row[p];
  }
}

}  // namespace

void hash_buckets(Cpu, const Tensor& x, const Tensor& rotations, const std::vector<int64_t>& sides,
                  Out buckets) {
  const Span span("hash buckets");
  const int64_t heads = x.dim(1), width = x.dim(2), rounds = rotations.dim(1),
                planes = rotations.dim(3);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    const T* from = x.data<T>();
    const float* turns = rotations.data<float>();
    auto* to = buckets->data<int32_t>();
    parallel_ranges(x.dim(0) * heads, row_grain(rounds * planes), [&](int64_t begin, int64_t end) {
      std::vector<Accumulator<T>> products(static_cast<size_t>(planes));
      for (int64_t row = begin; row < end; ++row)
        for (int64_t r = 0; r < rounds; ++r) {
          const int64_t set = row % heads * rounds + r;
          project(from + row * width, width, turns + set * width * planes, products);
          to[row * rounds + r] = bucket_of(products.data(), sides);
        }
    });
  });
}

namespace {

struct BucketOrder {
  int32_t *rows, *back, *groups;
};

// One sample and head of those to be put in order.
class BucketSet {
 public:
  BucketSet(const Tensor& buckets, const Tensor& segments, int64_t set, const BucketOrder& to)
      : length_(buckets.dim(1)),
        heads_(buckets.dim(2)),
        rounds_(buckets.dim(3)),
        set_(set),
        buckets_(buckets.data<int32_t>()),
        segments_(segments.data_or_null<int32_t>()),
        tokens_(buckets.dim(0) * length_ * heads_),
        rows_(to.rows + set * rounds_ * length_),
        back_(to.back),
        groups_(to.groups + set * rounds_ * length_) {}

  void put_in_order() {
    std::fill(rows_, rows_ + rounds_ * length_, -1);
    std::fill(groups_, groups_ + rounds_ * length_, -1);
    for (int64_t round = 0; round < rounds_; ++round) add(round);
  }

 private:
  struct Token {
    int32_t document, bucket, place;
    auto operator<=>(const Token&) const = default;
  };

  int64_t row_of(int64_t place) const {
    return (set_ / heads_ * length_ + place) * heads_ + set_ % heads_;
  }
  void find_tokens(int64_t round) {
    sorted_.clear();
    for (int64_t place = 0; place < length_; ++place) {
      const int64_t row = row_of(place);
      const int32_t document = segments_ ? segments_[set_ / heads_ * length_ + place] : 0;
      if (document < 0) back_[round * tokens_ + row] = -1;
      if (document >= 0)
        sorted_.push_back({document, buckets_[row * rounds_ + round], static_cast<int32_t>(place)});
    }
    std::ranges::sort(sorted_);
  }
  void add(int64_t round) {
    find_tokens(round);
    const Token* before = nullptr;
    for (const Token& token : sorted_) {
      const bool alike =
          before && before->document == token.document && before->bucket == token.bucket;
      const int64_t row = row_of(token.place);
      rows_[next_] = static_cast<int32_t>(row);
      back_[round * tokens_ + row] = static_cast<int32_t>(set_ * rounds_ * length_ + next_);
      groups_[next_] = alike ? groups_[next_ - 1] : static_cast<int32_t>(next_);
      ++next_;
      before = &token;
    }
  }

  int64_t length_, heads_, rounds_, set_;
  const int32_t *buckets_, *segments_;
  int64_t tokens_;  // of all samples and heads
  int32_t *rows_, *back_, *groups_;
  int64_t next_ = 0;
  std::vector<Token> sorted_;
};

}  // namespace

void order_by_bucket(Cpu, const Tensor& buckets, const Tensor& segments, int64_t /*count*/,
                     Out rows, Out back, Out groups) {
  const Span span("order by bucket");
  const BucketOrder to{rows->data<int32_t>(), back->data<int32_t>(), groups->data<int32_t>()};
  parallel_ranges(buckets.dim(0) * buckets.dim(2), 1, [&](int64_t begin, int64_t end) {
    for (int64_t set = begin; set < end; ++set)
      BucketSet(buckets, segments, set, to).put_in_order();
  });
}

namespace {

// What each part of a row weighs; NaN where a level is.
template <class A>
void weigh(const RoundParts& from, int64_t row, std::vector<A>& weights) {
  constexpr A kNothing = -std::numeric_limits<A>::infinity();
  const int64_t rounds = from.rows.dim(0), rows = from.rows.dim(1);
  const int32_t* numbers = from.rows.data<int32_t>() + row;
  const A* levels = from.levels.data<A>();
  A most = kNothing, sum{};
  for (int64_t r = 0; r < rounds; ++r) {
    const int32_t part = numbers[r * rows];
    weights[static_cast<size_t>(r)] = part < 0 ? kNothing : levels[part];
    most = std::max(most, weights[static_cast<size_t>(r)]);
  }
  for (A& weight : weights) sum += weight = weight == kNothing ? A{} : std::exp(weight - most);
  for (A& weight : weights)
    if (weight != 0) weight /= sum;
}

// f(row, weights) for each.
template <class A, class F>
void for_rows(const RoundParts& from, const F& f) {
  parallel_ranges(from.rows.dim(1), row_grain(from.rows.dim(0) * from.parts.dim(1)),
                  [&](int64_t begin, int64_t end) {
                    std::vector<A> weights(static_cast<size_t>(from.rows.dim(0)));
                    for (int64_t row = begin; row < end; ++row) {
                      weigh(from, row, weights);
                      f(row, weights.data());
                    }
                  });
}

template <class T>
Accumulator<T> product_of(const T* a, const T* b, int64_t count) {
  Accumulator<T> sum{};
  for (int64_t i = 0; i < count; ++i) sum += load(a + i) * load(b + i);
  return sum;
}

}  // namespace

void merge_rounds(Cpu, const RoundParts& from, Out y) {
  const Span span("merge rounds");
  const int64_t rounds = from.rows.dim(0), rows = from.rows.dim(1), width = from.parts.dim(1);
  const int32_t* numbers = from.rows.data<int32_t>();
  visit_float(from.parts.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const T* parts = from.parts.data<T>();
    T* to = y->data<T>();
    for_rows<A>(from, [=](int64_t row, const A* weights) {
      for (int64_t c = 0; c < width; ++c) {
        A sum{};
        for (int64_t r = 0; r < rounds; ++r)
          if (weights[r] != 0)
            sum += weights[r] * load(parts + numbers[r * rows + row] * width + c);
        store(to + row * width + c, sum);
      }
    });
  });
}

// With w the weights: dpart = w dy, dlevel = w (part - y) · dy.
void merge_rounds_backward(Cpu, const RoundParts& from, const Tensor& y, const Tensor& dy,
                           Out dparts, Out dlevels) {
  const Span span("merge rounds backward");
  const int64_t rounds = from.rows.dim(0), rows = from.rows.dim(1), width = from.parts.dim(1);
  const int32_t* numbers = from.rows.data<int32_t>();
  dparts->fill_zero();
  dlevels->fill_zero();
  visit_float(from.parts.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const T *parts = from.parts.data<T>(), *made = y.data<T>(), *slopes = dy.data<T>();
    T* to = dparts->data<T>();
    A* to_levels = dlevels->data<A>();
    for_rows<A>(from, [=](int64_t row, const A* weights) {
      const T* slope = slopes + row * width;
      const A whole = product_of(slope, made + row * width, width);
      for (int64_t r = 0; r < rounds; ++r) {
        const int64_t part = numbers[r * rows + row];
        if (weights[r] == 0) continue;
        to_levels[part] = weights[r] * (product_of(slope, parts + part * width, width) - whole);
        for (int64_t c = 0; c < width; ++c)
          store(to + part * width + c, weights[r] * load(slope + c));
      }
    });
  });
}

}  // namespace skein::kernels
