#include "skein/kernels/hashing.h"

#include "common.cuh"
#include "sort.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 128, kMostSides = 2;

struct Sides {
  int count = 0;
  int64_t each[kMostSides] = {};
};

// A block a vector and round: its products lie in shared memory, and the first thread looks for the
// largest, as there are few.
template <class T>
__global__ void hash_rows(int64_t heads, int64_t width, int64_t planes, Sides sides, const T* x,
                          const float* rotations, int32_t* buckets) {
  using A = Accumulator<T>;
  A* products = dynamic_shared<A>();
  const int64_t row = blockIdx.x, rounds = gridDim.y, round = blockIdx.y;
  const float* turns = rotations + (row % heads * rounds + round) * width * planes;
  for (int64_t p = threadIdx.x; p < planes; p += blockDim.x) {
    A sum(0);
    for (int64_t d = 0; d < width; ++d) sum += load(x + row * width + d) * A(turns[d * planes + p]);
    products[p] = sum;
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  int64_t made = 0, weight = 1;
  for (int i = 0; i < sides.count; ++i) {
    const int64_t half = sides.each[i] / 2;
    int64_t most = 0, least = 0;
    for (int64_t p = 1; p < half; ++p) {
      if (products[p] > products[most]) most = p;
      if (products[p] < products[least]) least = p;
    }
    made += weight * (products[most] >= -products[least] ? most : half + least);
    weight *= sides.each[i];
    products += half;
  }
  buckets[row * rounds + round] = static_cast<int32_t>(made);
}

// A token of a sample and head in a round. Items are numbered by sample, head, round and place.
struct BucketItem {
  int64_t set, round, place;
};

enum class BucketKey { bucket, document, round };

struct BucketItems {
  int64_t length, heads, rounds, count;  // count: of all
  const int32_t *buckets, *segments;

  BucketItems(const Tensor& b, const Tensor& s)
      : length(b.dim(1)),
        heads(b.dim(2)),
        rounds(b.dim(3)),
        count(b.size()),
        buckets(b.data<int32_t>()),
        segments(s.data_or_null<int32_t>()) {}

  __device__ BucketItem item(int64_t number) const {
    return {number / length / rounds, number / length % rounds, number % length};
  }
  __device__ int64_t row(const BucketItem& at) const {
    return (at.set / heads * length + at.place) * heads + at.set % heads;
  }
  // Padding behind all others.
  __device__ int32_t document(const BucketItem& at) const {
    const int32_t own = segments ? segments[at.set / heads * length + at.place] : 0;
    return own < 0 ? INT32_MAX : own;
  }
  __device__ int32_t bucket(const BucketItem& at) const {
    return buckets[row(at) * rounds + at.round];
  }
  __device__ int32_t key(const BucketItem& at, BucketKey by) const {
    return by == BucketKey::bucket     ? bucket(at)
           : by == BucketKey::document ? document(at)
                                       : static_cast<int32_t>(at.set * rounds + at.round);
  }
};

__global__ void find_keys(BucketItems items, BucketKey by, const int32_t* order, int32_t* keys) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < items.count) keys[i] = items.key(items.item(order ? order[i] : i), by);
}

// How many of the first `count` of the order come before (document, bucket).
__device__ int64_t items_before(const BucketItems& items, const int32_t* order, int64_t count,
                                int32_t document, int32_t bucket) {
  int64_t low = 0;
  while (count > 0) {
    const int64_t half = count / 2;
    const BucketItem at = items.item(order[low + half]);
    const int32_t own = items.document(at);
    if (own < document || (own == document && items.bucket(at) < bucket)) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}

struct OrderedItems {
  int32_t *rows, *back, *groups;
};

// order: items by sample, head, round, document, bucket and place. A thread an item; those of
// padding write the rows of nothing.
__global__ void lay_out_items(BucketItems items, const int32_t* order, OrderedItems to) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= items.count) return;
  const BucketItem at = items.item(order[i]);
  const int32_t document = items.document(at);
  const int64_t place = i % items.length;  // in its round
  const int32_t* round = order + (i - place);
  const int64_t all =
      items.segments ? items_before(items, round, items.length, INT32_MAX, 0) : items.length;
  const int64_t set = at.set * items.rounds * items.length,
                back = at.round * (items.count / items.rounds) + items.row(at);
  if (place >= all) {
    const int64_t nothing =
        set + items.rounds * all + at.round * (items.length - all) + place - all;
    to.rows[nothing] = to.groups[nothing] = to.back[back] = -1;
    return;
  }
  const int64_t first = at.round * all, row = set + first + place;
  to.rows[row] = static_cast<int32_t>(items.row(at));
  to.back[back] = static_cast<int32_t>(row);
  to.groups[row] =
      static_cast<int32_t>(first + items_before(items, round, place, document, items.bucket(at)));
}

template <class T>
struct Parts {
  int64_t rounds, rows, width;
  const T* parts;
  const Accumulator<T>* levels;
  const int32_t* numbers;

  explicit Parts(const RoundParts& from)
      : rounds(from.rows.dim(0)),
        rows(from.rows.dim(1)),
        width(from.parts.dim(1)),
        parts(from.parts.data<T>()),
        levels(from.levels.data<Accumulator<T>>()),
        numbers(from.rows.data<int32_t>()) {}

  __device__ Accumulator<T> level(int64_t round, int64_t row) const {
    const int32_t part = numbers[round * rows + row];
    return part < 0 ? -INFINITY : levels[part];
  }
  // The largest level of a row and the sum of exp(level - largest); -inf and 0 where none weighs.
  __device__ void totals(int64_t row, Accumulator<T>& most, Accumulator<T>& sum) const {
    most = -INFINITY;
    sum = 0;
    for (int64_t r = 0; r < rounds; ++r) most = level(r, row) > most ? level(r, row) : most;
    for (int64_t r = 0; r < rounds; ++r)
      if (level(r, row) != -INFINITY) sum += exp(level(r, row) - most);
  }
};

// A warp a row.
template <class T>
__global__ void merge_rows(Parts<T> from, T* y) {
  using A = Accumulator<T>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (row >= from.rows) return;
  A most, all;
  from.totals(row, most, all);
  for (int64_t c = threadIdx.x % kWarp; c < from.width; c += kWarp) {
    A sum(0);
    for (int64_t r = 0; r < from.rounds; ++r) {
      const A level = from.level(r, row);
      if (level != -INFINITY)
        sum += exp(level - most) / all *
               load(from.parts + from.numbers[r * from.rows + row] * from.width + c);
    }
    store(y + row * from.width + c, sum);
  }
}

template <class T>
__global__ void spread_rows(Parts<T> from, const T* y, const T* dy, T* dparts,
                            Accumulator<T>* dlevels) {
  using A = Accumulator<T>;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (row >= from.rows) return;
  A most, all;
  from.totals(row, most, all);
  for (int64_t r = 0; r < from.rounds; ++r) {
    const A level = from.level(r, row);
    if (level == -INFINITY) continue;
    const int64_t part = from.numbers[r * from.rows + row];
    const A weight = exp(level - most) / all;
    A apart(0);
    for (int64_t c = threadIdx.x % kWarp; c < from.width; c += kWarp) {
      const A slope = load(dy + row * from.width + c);
      apart += slope * (load(from.parts + part * from.width + c) - load(y + row * from.width + c));
      store(dparts + part * from.width + c, weight * slope);
    }
    apart = warp_sum(apart);
    if (threadIdx.x % kWarp == 0) dlevels[part] = weight * apart;
  }
}

dim3 rows_grid(const RoundParts& from) {
  return grid_of(pieces_of(from.rows.dim(1), kThreads / kWarp));
}

}  // namespace

void hash_buckets(Cuda on, const Tensor& x, const Tensor& rotations,
                  const std::vector<int64_t>& given, Out buckets) {
  SKEIN_CHECK(std::ssize(given) <= kMostSides);
  Sides sides;
  for (const int64_t side : given) sides.each[sides.count++] = side;
  const int64_t planes = rotations.dim(3);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    launch("hash_buckets", on, hash_rows<T>, grid_of(x.dim(0) * x.dim(1), rotations.dim(1)),
           kThreads, static_cast<size_t>(planes) * sizeof(Accumulator<T>), x.dim(1), x.dim(2),
           planes, sides, x.data<T>(), rotations.data<float>(), buckets->data<int32_t>());
  });
}

void merge_rounds(Cuda on, const RoundParts& from, Out y) {
  visit_float(from.parts.dtype(), [&]<class T>(TypeTag<T>) {
    launch("merge_rounds", on, merge_rows<T>, rows_grid(from), kThreads, 0, Parts<T>(from),
           y->data<T>());
  });
}

void merge_rounds_backward(Cuda on, const RoundParts& from, const Tensor& y, const Tensor& dy,
                           Out dparts, Out dlevels) {
  dparts->fill_zero();
  dlevels->fill_zero();
  visit_float(from.parts.dtype(), [&]<class T>(TypeTag<T>) {
    launch("merge_rounds_backward", on, spread_rows<T>, rows_grid(from), kThreads, 0,
           Parts<T>(from), y.data<T>(), dy.data<T>(), dparts->data<T>(),
           dlevels->data<Accumulator<T>>());
  });
}

void order_by_bucket(Cuda on, const Tensor& buckets, const Tensor& segments, int64_t count,
                     Out rows, Out back, Out groups) {
  constexpr char kName[] = "order_by_bucket";
  const BucketItems items(buckets, segments);
  const dim3 grid = grid_of(pieces_of(items.count, kThreads));
  Sorted order;
  const auto sort_by = [&](BucketKey by, int64_t largest) {
    const Tensor keys = buckets.like({items.count});
    launch(kName, on, find_keys, grid, kThreads, 0, items, by,
           order.positions.data_or_null<int32_t>(), keys.data<int32_t>());
    order = sort(kName, on, keys, largest, order.positions);
  };
  sort_by(BucketKey::bucket, count - 1);
  if (segments.defined()) sort_by(BucketKey::document, INT32_MAX);
  sort_by(BucketKey::round, items.count / items.length - 1);
  launch(kName, on, lay_out_items, grid, kThreads, 0, items, order.positions.data<int32_t>(),
         OrderedItems{rows->data<int32_t>(), back->data<int32_t>(), groups->data<int32_t>()});
}

}  // namespace skein::kernels
