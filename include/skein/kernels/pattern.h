// Which keys each query of attention sees, as data. The kernels do no work where nobody sees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/tensor/tensor.h"

namespace skein::kernels {

constexpr int64_t kUnlimited = int64_t{1} << 40;  // of a band: as far as there are keys

// Block i of queries looks at the blocks of keys that are listed for it; a block is `size` places
// long, the last one of each side may be shorter.
struct BlockLists {
  int64_t size = 0;  // 0: there are no lists
  // [L,N+1] i32 for N blocks of queries, one set of lists for all heads (L = 1) or one a head:
  // block i looks at blocks[starts[l,i]] .. blocks[starts[l,i+1] - 1], which rise. A block that is
  // listed m times counts m times: its weights are m · exp(score).
  Tensor starts, blocks;
  // [B,T] i32, both or neither. Where blocks are not counted from the first place on: of each query
  // the key that begins block 0 of those that its list names, and which of the N lists that is.
  Tensor origins = {}, rows = {};
};

// Query i of T sees key j of S where
//
//   ((in the band and listed) or j < prefix or (j is marked and p - j >= -marked_after))
//   and the segments are equal and the key's is not negative and j >= first_key
//
// Heads and samples see alike but for what the tensors say; those that are undefined say nothing.
struct Pattern {
  // The band: -after <= p - j <= before, where p = first_query + i is the query's place among the
  // keys. Causal: (unlimited, 0); full: both unlimited; a window of w places, its own included:
  // (w-1, 0). `after` may be -1: a query does not see its own place.
  int64_t before = kUnlimited, after = 0;
  int64_t first_query = 0;  // above 0 when decoding with a cache; may lie beyond the last key
  Tensor query_segments = {}, key_segments = {};  // [B,T] and [B,S] i32, both or neither
  Tensor first_key = {};                          // [B] i32: left padding
  BlockLists lists = {};
  Tensor prefix = {};                 // [B] i32: keys before it are seen by all
  Tensor marked = {};                 // [B,S] i32: keys where it is not 0 are seen by all...
  int64_t marked_after = kUnlimited;  // ...that stand no further than this before them
  // [B,T] and [B,S] i32, both or neither: the band is judged by these instead of p and j, and the
  // stream of dropout counts by them. For rows that were sorted or cut into windows.
  Tensor query_places = {}, key_places = {};
  // Keys of the query's own place are seen only by a query that sees nothing else, once each and
  // with the score kAlone instead of theirs (Kitaev and others, "Reformer", 2020).
  bool self_last = false;

  static Pattern causal() { return {}; }
  static Pattern full() { return {kUnlimited, kUnlimited}; }
  // `width` places, the query's own included, of those before it; on both sides when not causal.
  static Pattern window(int64_t width, bool causal) { return {width - 1, causal ? 0 : width - 1}; }
  // Whether first and last key of the band say all.
  bool is_band() const {
    return !key_segments.defined() && !lists.size && !prefix.defined() && !marked.defined() &&
           !key_places.defined() && !self_last;
  }
};

constexpr double kAlone = -1e5;  // below every real score

// A pattern's tensors in host memory, of one sample and head. `queries` and `keys`: T and S.
struct PatternView {
  PatternView(const Pattern& pattern, int64_t sample, int64_t head, int64_t queries, int64_t keys);

  int64_t queries, keys, before, after, first_query, first_key, prefix, marked_after, block;
  const int32_t *query_segments, *key_segments, *marked, *query_places, *key_places;
  const int32_t *starts, *blocks;  // of this head
  const int32_t *origins, *rows;   // of the lists
  bool self_last;

  // Of a query: its list, and the key from which the list counts blocks.
  int64_t list_of(int64_t query) const { return rows ? rows[query] : query / block; }
  int64_t origin_of(int64_t query) const { return origins ? origins[query] : 0; }

  // The query's place less the key's.
  int64_t places_back(int64_t query, int64_t key) const;
  // How often the query counts the key: 0 where it does not see it. By the definition above, and
  // slow: the kernels go by runs, and tests hold them against this. Of self_last it knows nothing
  // but that a query's own place is not seen.
  int64_t times(int64_t query, int64_t key) const;
};

// Keys [begin, end), each counted `times`. Where not `whole`, each key is to be asked by times().
struct KeyRun {
  int64_t begin, end;
  int32_t times;
  bool whole;
  bool operator==(const KeyRun&) const = default;
};

// By query, the runs of the keys that it sees, rising, of one sample and head. The same whatever
// samples come together, and whatever padding follows.
class KeyRuns {
 public:
  explicit KeyRuns(const PatternView& view);
  std::span<const KeyRun> of(int64_t query) const {
    return {runs_.data() + starts_[static_cast<size_t>(query)],
            runs_.data() + starts_[static_cast<size_t>(query) + 1]};
  }
  // Whether the query sees nothing but its own place, by self_last.
  bool alone(int64_t query) const { return !alone_.empty() && alone_[static_cast<size_t>(query)]; }
  // Whether a key may count more than once.
  bool repeats() const { return repeats_; }

 private:
  friend class KeyRunsBuilder;
  std::vector<int64_t> starts_;
  std::vector<KeyRun> runs_;
  std::vector<bool> alone_;
  bool repeats_ = false;
};

// Pairs of a query and a key that it sees, counted as often as it counts, of all samples and heads:
// what attention costs, 4 · D FLOPs each forward and 2.5 times that backward. On a GPU's tensors
// only the band and what is on the host is known: the pairs are counted as if segments, marks and
// lists left all of it.
double visible_pairs(const Pattern& pattern, int64_t samples, int64_t heads, int64_t queries,
                     int64_t keys);

}  // namespace skein::kernels
