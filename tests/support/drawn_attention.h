// Attention over patterns that are drawn: of every kind, mixed, over sides of unequal length.
#pragma once

#include <random>

#include "skein/kernels/attention.h"

#include "support/kernel_check.h"

namespace skein::test {

struct AttentionSizes {
  int64_t samples, queries, keys, heads, groups, width;
};

// [2, length] i32: segments of `run` positions each, in each row from 0.
inline Tensor runs_of(int64_t run, int64_t length) {
  const Tensor made = Tensor::empty({2, length}, DType::i32);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<int32_t>()[i] = static_cast<int32_t>(i % length / run);
  return made;
}

// Numbers of a test's own, the same in every run.
class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  Tensor ids(int64_t rows, int64_t columns, const std::function<int64_t()>& draw) {
    const Tensor made = Tensor::empty({rows, columns}, DType::i32);
    for (int64_t i = 0; i < made.size(); ++i)
      made.data<int32_t>()[i] = static_cast<int32_t>(draw());
    return made;
  }

 private:
  std::mt19937_64 random_;
};

inline kernels::BlockLists drawn_lists(Draws& draws, const AttentionSizes& s, bool by_head) {
  kernels::BlockLists made;
  made.size = draws.one_in(3) ? 64 << draws.below(2) : 1 + draws.below(40);
  const int64_t rows = (s.queries + made.size - 1) / made.size,
                blocks = (s.keys + made.size - 1) / made.size;
  std::vector<int32_t> starts, listed;
  for (int64_t set = 0; set < (by_head ? s.heads : 1); ++set) {
    starts.push_back(static_cast<int32_t>(listed.size()));
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t b = 0; b < blocks; ++b)
        for (int64_t times = draws.below(4) - 1; times > 0; --times)
          listed.push_back(static_cast<int32_t>(b));
      starts.push_back(static_cast<int32_t>(listed.size()));
    }
  }
  if (listed.empty()) listed.push_back(0);
  made.starts = Tensor::from(starts, {by_head ? s.heads : 1, rows + 1});
  made.blocks = Tensor::from(listed, {std::ssize(listed)});
  if (draws.one_in(3)) {
    made.origins = draws.ids(s.samples, s.queries, [&] { return draws.below(s.keys); });
    made.rows = draws.ids(s.samples, s.queries, [&] { return draws.below(rows); });
  }
  return made;
}

// Sorted segments of documents, now and then unsorted ones, with padding at the end.
inline Tensor drawn_segments(Draws& draws, int64_t samples, int64_t length) {
  const Tensor made = Tensor::empty({samples, length}, DType::i32);
  for (int64_t b = 0; b < samples; ++b) {
    const bool sorted = !draws.one_in(3);
    int32_t segment = 0;
    const int64_t padding = draws.below(length / 3 + 1);
    for (int64_t t = 0; t < length; ++t) {
      if (draws.one_in(30)) ++segment;
      made.data<int32_t>()[b * length + t] = t >= length - padding ? -1
                                             : sorted              ? segment
                                                      : static_cast<int32_t>(draws.below(3));
    }
  }
  return made;
}

inline kernels::Pattern drawn_pattern(Draws& draws, const AttentionSizes& s) {
  kernels::Pattern made = band(draws.one_in(2), draws.one_in(2) ? 0 : 1 + draws.below(60));
  if (draws.one_in(5)) made.after = -1;
  if (draws.one_in(3)) made.first_query = draws.below(30);
  if (draws.one_in(3)) {
    made.query_segments = drawn_segments(draws, s.samples, s.queries);
    made.key_segments = drawn_segments(draws, s.samples, s.keys);
  }
  if (draws.one_in(3))
    made.first_key = draws.ids(1, s.samples, [&] { return draws.below(20); }).reshape({s.samples});
  if (draws.one_in(3))
    made.prefix = draws.ids(1, s.samples, [&] { return draws.below(s.keys); }).reshape({s.samples});
  if (draws.one_in(3)) {
    made.marked = draws.ids(s.samples, s.keys, [&] { return draws.one_in(20); });
    if (draws.one_in(2)) made.marked_after = draws.below(20);
  }
  if (draws.one_in(3)) made.lists = drawn_lists(draws, s, draws.one_in(2));
  if (draws.one_in(4)) {
    made.query_places = draws.ids(s.samples, s.queries, [&] { return draws.below(s.keys); });
    made.key_places = draws.ids(s.samples, s.keys, [&] { return draws.below(s.keys); });
    made.self_last = draws.one_in(2);
  } else {
    made.self_last = draws.one_in(6);
  }
  return made;
}

inline AttentionSizes drawn_sizes(Draws& draws) {
  const int64_t groups = 1 + draws.below(2);
  const bool alike = draws.one_in(2);
  const int64_t queries = 1 + draws.below(draws.one_in(4) ? 450 : 60);
  return {1 + draws.below(2),
          queries,
          alike ? queries : 1 + draws.below(450),
          groups * (1 + draws.below(2)),
          groups,
          draws.one_in(2) ? 8 : 1 + draws.below(9)};
}

inline Tensor drawn_bias(Draws& draws, const AttentionSizes& s, uint64_t seed) {
  const int64_t shares = draws.one_in(2) ? s.samples : 1;
  return draws.one_in(2) ? random_tensor({shares, s.heads, s.queries, s.keys}, seed)
                         : random_tensor({shares, s.heads, s.queries + s.keys - 1}, seed);
}

struct DrawnAttention {
  AttentionSizes sizes;
  Tensors in;
  kernels::AttentionArguments arguments;
};

inline DrawnAttention drawn_attention(uint64_t seed) {
  Draws draws(seed);
  DrawnAttention made{drawn_sizes(draws), {}, {}};
  const AttentionSizes& s = made.sizes;
  made.in = {random_tensor({s.samples, s.queries, s.heads, s.width}, seed),
             random_tensor({s.samples, s.keys, s.groups, s.width}, seed + 1),
             random_tensor({s.samples, s.keys, s.groups, s.width}, seed + 2)};
  made.arguments.scale = 0.4;
  made.arguments.pattern = drawn_pattern(draws, s);
  if (draws.one_in(3)) made.arguments.bias = drawn_bias(draws, s, seed + 3);
  return made;
}

}  // namespace skein::test
