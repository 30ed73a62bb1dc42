// What a block needs of one head of one sample: where it lies and who sees whom there. Internal to
// attention.
#pragma once

#include "skein/kernels/attention.h"

#include "common.cuh"
#include "philox.cuh"

namespace skein::kernels {

// Queries and keys that meet at once; a warp has a lane for each key.
constexpr int kQueryTile = 32, kKeyTile = 32, kAttentionThreads = 256;
// Of which it is listed what may see what; all other tiles divide it.
constexpr int kSightTile = 64;
constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

// What is known of all pairs of two tiles. each: nothing, so that every pair has to be asked;
// whole: all see each other by plain scores; masked: who sees whom does not hang on lists and on
// lone queries, and a pair's score on nothing but a bias.
enum class TileSight { each, whole, masked };
constexpr int32_t kTileSights = 4;  // room for them

// Lists of `columns` places each, of the first counts[row] rising numbers of tiles: kTileSights
// times the number, and the TileSight.
struct TileLists {
  int32_t *numbers, *counts;
  int64_t rows, columns;  // of one sample and set of lists
};

template <class T>
struct AttentionPointers {
  const T *q, *k, *v;
  int64_t queries, keys, heads, groups, width, first_query, before, after;
  float scale;
  const int32_t *query_segments, *key_segments, *first_key;
  // Dropout; threshold 0: none.
  uint64_t dropout_key = 0;
  const int64_t* sample_ids = nullptr;
  int64_t first_head = 0;
  uint32_t threshold = 0;
  float keep = 1;
  // Of patterns that are more than a band.
  const int32_t *prefix = nullptr, *marked = nullptr, *query_places = nullptr,
                *key_places = nullptr;
  const int32_t *starts = nullptr, *blocks = nullptr, *origins = nullptr,
                *list_rows = nullptr;  // of lists
  int64_t marked_after = 0;
  int64_t block = 0, sets = 1;  // places of a block; sets of lists, 1 or heads
  int64_t set_size = 0;         // numbers in `starts` of one set
  bool self_last = false;
  const int32_t* alone = nullptr;  // [B,sets,T], of self_last
  // Tiles of keys by tile of queries, and the other way; no numbers: the band says all.
  TileLists key_tiles = {}, query_tiles = {};
  // Bias: query i and key j of head h have element (row · heads + h) · bias_size + i · bias_row + j
  // + bias_first, where bias_samples samples share a row.
  const float* bias = nullptr;
  int64_t bias_samples = 1, bias_size = 0, bias_row = 0, bias_first = 0;

  __host__ __device__ bool is_band() const { return !key_tiles.numbers; }
  // Whether scores are not plain: products times a positive scale.
  __host__ __device__ bool adds() const { return bias || block || alone || !(scale > 0); }
};

// The types attention is made for on GPUs; f64 is not one of them.
template <class F>
void visit_attended(DType dtype, const F& f) {
  visit_float(dtype, [&]<class T>(TypeTag<T> tag) {
    if constexpr (std::is_same_v<T, double>)
      fail("no attention in f64 on a GPU; use f32, bf16 or f16");
    else
      f(tag);
  });
}

template <class T>
void set_bias(const Tensor& bias, const Tensor& q, const Tensor& k, AttentionPointers<T>& made) {
  if (!bias.defined()) return;
  const bool dense = bias.shape().rank() == 4;
  made.bias = bias.data<float>();
  made.bias_samples = q.dim(0) / bias.dim(0);
  made.bias_size = bias.size() / (bias.dim(0) * q.dim(2));
  made.bias_row = dense ? k.dim(1) : -1;
  made.bias_first = dense ? 0 : q.dim(1) - 1;
}

template <class T>
AttentionPointers<T> make_attend(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const AttentionArguments& a) {
  const Pattern& p = a.pattern;
  AttentionPointers<T> made{.q = q.data<T>(),
                            .k = k.data<T>(),
                            .v = v.data<T>(),
                            .queries = q.dim(1),
                            .keys = k.dim(1),
                            .heads = q.dim(2),
                            .groups = k.dim(2),
                            .width = q.dim(3),
                            .first_query = p.first_query,
                            .before = p.before,
                            .after = p.after,
                            .scale = static_cast<float>(a.scale),
                            .query_segments = p.query_segments.data_or_null<int32_t>(),
                            .key_segments = p.key_segments.data_or_null<int32_t>(),
                            .first_key = p.first_key.data_or_null<int32_t>()};
  if (a.dropout > 0) {
    made.dropout_key = a.dropout_key;
    made.sample_ids = a.sample_ids.data<int64_t>();
    made.first_head = a.first_head;
    made.threshold = static_cast<uint32_t>(a.dropout * 4294967296.0);
    made.keep = 1.0f / static_cast<float>(1 - a.dropout);
  }
  made.prefix = p.prefix.data_or_null<int32_t>();
  made.marked = p.marked.data_or_null<int32_t>();
  made.marked_after = p.marked_after;
  made.query_places = p.query_places.data_or_null<int32_t>();
  made.key_places = p.key_places.data_or_null<int32_t>();
  made.block = p.lists.size;
  made.sets = p.lists.size ? p.lists.starts.dim(0) : 1;
  made.starts = p.lists.starts.data_or_null<int32_t>();
  made.blocks = p.lists.blocks.data_or_null<int32_t>();
  made.set_size = p.lists.size ? p.lists.starts.dim(1) : 0;
  made.origins = p.lists.origins.data_or_null<int32_t>();
  made.list_rows = p.lists.rows.data_or_null<int32_t>();
  made.self_last = p.self_last;
  set_bias(a.bias, q, k, made);
  return made;
}

// Where the rows of one head of one sample begin. To be made once: it divides.
struct HeadRows {
  int64_t first, apart;

  __device__ int64_t at(int64_t row) const { return first + row * apart; }
};

template <class T>
struct AttentionHead {
  const AttentionPointers<T>& a;
  int64_t sample, head;

  __device__ HeadRows query_rows() const {
    return {(sample * a.queries * a.heads + head) * a.width, a.heads * a.width};
  }
  __device__ HeadRows key_rows() const {
    const int64_t group = head / (a.heads / a.groups);
    return {(sample * a.keys * a.groups + group) * a.width, a.groups * a.width};
  }
  __device__ int64_t set() const { return a.sets > 1 ? head : 0; }
  __device__ int64_t line_at(int64_t query) const {
    return (sample * a.heads + head) * a.queries + query;
  }

  // Keys [first, last) that are in the query's band.
  __device__ int64_t first(int64_t query) const {
    const int64_t near = a.first_query + query - a.before,
                  begin = a.first_key ? a.first_key[sample] : 0;
    return near > begin ? near : begin;
  }
  __device__ int64_t last(int64_t query) const {
    const int64_t far = a.first_query + query + a.after + 1;
    return far < a.keys ? far : a.keys;
  }
  // Queries [first_seeing, last_seeing) whose band has the key.
  __device__ int64_t first_seeing(int64_t key) const {
    const int64_t query = key - a.after - a.first_query;
    return query > 0 ? query : 0;
  }
  __device__ int64_t last_seeing(int64_t key) const {
    const int64_t end = key + a.before + 1 - a.first_query;
    return end < a.queries ? end : a.queries;
  }
  // Beyond it there is nothing that the queries see, and there may be no numbers.
  __device__ int64_t end_of_keys(int64_t query, int64_t rows) const {
    int64_t end = last(query + rows - 1);
    if (a.prefix && a.prefix[sample] > end) end = a.prefix[sample];
    return a.marked || a.key_places ? a.keys : end;
  }

  // How often the query counts the key (PatternView::times); a key of its own place once where it
  // is alone.
  __device__ int times(int64_t query, int64_t key) const {
    if (query >= a.queries || key >= a.keys) return 0;
    if (a.first_key && key < a.first_key[sample]) return 0;
    if (a.key_segments) {
      const int32_t segment = a.key_segments[sample * a.keys + key];
      if (segment < 0 || segment != a.query_segments[sample * a.queries + query]) return 0;
    }
    const int64_t apart = a.key_places ? int64_t{a.query_places[sample * a.queries + query]} -
                                             a.key_places[sample * a.keys + key]
                                       : a.first_query + query - key;
    const bool own = a.self_last && apart == 0;
    if (own && !is_alone(query)) return 0;
    if (-a.after <= apart && apart <= a.before) {
      const int listed = a.block ? listed_times(query, key) : 1;
      if (listed) return own ? 1 : listed;
    }
    return (a.prefix && key < a.prefix[sample]) ||
           (a.marked && a.marked[sample * a.keys + key] && apart >= -a.marked_after);
  }
  __device__ bool sees(int64_t query, int64_t key) const {
    if (!a.is_band()) return times(query, key) > 0;
    return query < a.queries && key >= first(query) && key < last(query);
  }
  __device__ bool is_alone(int64_t query) const {
    return a.alone && a.alone[(sample * a.sets + set()) * a.queries + query];
  }
  // The key from which the query's list counts blocks.
  __device__ int64_t origin_of(int64_t query) const {
    return a.origins ? a.origins[sample * a.queries + query] : 0;
  }
  // First of the blocks from `first` on that are listed for the query's.
  __device__ const int32_t* listed_from(int64_t query, int64_t first, const int32_t*& end) const {
    const int64_t row = a.list_rows ? a.list_rows[sample * a.queries + query] : query / a.block;
    const int32_t* starts = a.starts + set() * a.set_size + row;
    const int32_t* low = a.blocks + starts[0];
    end = a.blocks + starts[1];
    for (int64_t count = end - low; count > 0;) {
      const int64_t half = count / 2;
      if (low[half] < first) {
        low += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    return low;
  }
  __device__ int listed_times(int64_t query, int64_t key) const {
    const int64_t from = key - origin_of(query), block = from / a.block;
    const int32_t* end;
    int found = 0;
    if (from < 0) return 0;
    for (const int32_t* at = listed_from(query, block, end); at < end && *at == block; ++at)
      ++found;
    return found;
  }

  __device__ int64_t bias_at(int64_t query, int64_t key) const {
    return (sample / a.bias_samples * a.heads + head) * a.bias_size + query * a.bias_row + key +
           a.bias_first;
  }
  // Of a key that the query sees, from their scaled product.
  __device__ float score(int64_t query, int64_t key, float scaled) const {
    if (is_alone(query)) return static_cast<float>(kAlone);
    if (a.bias) scaled += a.bias[bias_at(query, key)];
    if (a.block) {
      const int counted = times(query, key);
      if (counted > 1) scaled += logf(static_cast<float>(counted));
    }
    return scaled;
  }
  // What decides whether the pairs of a place and of four neighbours that begin at a multiple of
  // four are dropped.
  __device__ DeviceBlock draws(int64_t from, int64_t to) const {
    const uint64_t draw = (static_cast<uint64_t>(a.first_head + head) << kDropoutHead) +
                          (static_cast<uint64_t>(from) << kDropoutQuery) +
                          static_cast<uint64_t>(to);
    return philox_on_device(a.dropout_key, static_cast<uint64_t>(a.sample_ids[sample]), draw / 4);
  }
  // 0 or 1 / (1 - dropout).
  __device__ float kept_by(uint32_t word) const { return word < a.threshold ? 0.0f : a.keep; }
  __device__ float kept(int64_t query, int64_t key) const {
    if (!a.threshold) return 1.0f;
    const int64_t from = a.key_places ? a.query_places[sample * a.queries + query] : query,
                  to = a.key_places ? a.key_places[sample * a.keys + key] : key;
    return kept_by(word_of(draws(from, to), static_cast<int>(to % 4)));
  }
};

// Tiles of kStep places that a tile of the other side looks at, rising.
template <int kStep>
struct TileWalk {
  static constexpr int64_t kParts = kSightTile / kStep;

  int64_t begin, count;
  TileSight of_all = TileSight::each;  // where none are listed
  const int32_t* listed = nullptr;     // tiles of kSightTile; null: all from `begin` on

  __device__ int64_t at(int64_t i) const {
    if (!listed) return begin + i * kStep;
    return listed[i / kParts] / kTileSights * int64_t{kSightTile} + i % kParts * kStep;
  }
  // Of this tile and the other side's.
  __device__ TileSight sight(int64_t i) const {
    return listed ? static_cast<TileSight>(listed[i / kParts] % kTileSights) : of_all;
  }
};

// Of a band.
template <int kStep>
__device__ TileWalk<kStep> walk_between(int64_t first, int64_t last, float scale) {
  const int64_t begin = first / kStep * kStep;
  return {begin, last > begin ? (last - begin + kStep - 1) / kStep : 0,
          scale > 0 ? TileSight::masked : TileSight::each};
}

template <int kStep>
__device__ TileWalk<kStep> walk_listed(const TileLists& lists, int64_t set, int64_t tile) {
  const int64_t row = set * lists.rows + tile;
  return {0, lists.counts[row] * TileWalk<kStep>::kParts, TileSight::each,
          lists.numbers + row * lists.columns};
}

// Of keys, for queries [query, query + rows) of one tile.
template <int kStep, class T>
__device__ TileWalk<kStep> keys_for(const AttentionHead<T>& head, int64_t query, int64_t rows) {
  if (head.a.is_band())
    return walk_between<kStep>(head.first(query), head.last(query + rows - 1), head.a.scale);
  return walk_listed<kStep>(head.a.key_tiles, head.sample * head.a.sets + head.set(),
                            query / kSightTile);
}
// Of queries, for keys [key, key + keys) of one tile.
template <int kStep, class T>
__device__ TileWalk<kStep> queries_for(const AttentionHead<T>& head, int64_t key, int64_t keys) {
  if (head.a.is_band())
    return walk_between<kStep>(head.first_seeing(key), head.last_seeing(key + keys - 1),
                               head.a.scale);
  return walk_listed<kStep>(head.a.query_tiles, head.sample * head.a.sets + head.set(),
                            key / kSightTile);
}

// Rows [first, first + kRows) of a head in shared memory, rows of `pitch` floats; zero where there
// are none.
template <int kRows, class T>
__device__ void load_rows(const T* from, int64_t first, int64_t count, int64_t width, int pitch,
                          float* to, const HeadRows& rows) {
  for (int64_t i = threadIdx.x; i < kRows * width; i += blockDim.x) {
    const int64_t row = i / width, d = i % width;
    to[row * pitch + d] = first + row < count ? load(from + rows.at(first + row) + d) : 0.0f;
  }
}

// Dot product of two rows in shared memory.
__device__ inline float dot(const float* a, const float* b, int64_t width) {
  float sum = 0;
  for (int64_t d = 0; d < width; ++d) sum += a[d] * b[d];
  return sum;
}

// Odd, so that the lanes of a warp that read a column each meet another bank.
inline int pitch_of(int64_t width) { return static_cast<int>(width | 1); }

}  // namespace skein::kernels
