#include "skein/nn/sight.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

#include "support/gradient_check.h"

namespace skein {
namespace {

using kernels::Pattern;
using kernels::PatternView;

// The blocks that the block of a query looks at, as often as it does.
std::multiset<int32_t> listed(const Pattern& pattern, int64_t set, int64_t row) {
  const kernels::BlockLists& lists = pattern.lists;
  const int32_t* starts = lists.starts.data<int32_t>() + set * lists.starts.dim(1) + row;
  const int32_t* blocks = lists.blocks.data<int32_t>();
  return {blocks + starts[0], blocks + starts[1]};
}

using Blocks = std::multiset<int32_t>;

SightSpec bigbird(int64_t random, bool drawn) {
  return {.kind = SightKind::bigbird, .block = 2, .random = random, .drawn = drawn};
}

TEST(Sight, BigBirdLooksAtEdgesNeighboursAndDrawnBlocks) {
  const SightShape shape{.queries = 23, .block = 3, .first_head = 1, .heads = 2};
  const Pattern pattern = pattern_of(bigbird(2, true), false, shape);
  EXPECT_EQ(pattern.before, kernels::kUnlimited);
  EXPECT_EQ(pattern.after, kernels::kUnlimited);
  bool differs = false;
  for (int64_t head = 0; head < 2; ++head)
    for (int64_t row = 0; row < 12; ++row) {
      const Blocks all = listed(pattern, head, row);
      EXPECT_EQ(std::set<int32_t>(all.begin(), all.end()).size(), all.size()) << "none twice";
      if (row == 0 || row == 11) {
        EXPECT_EQ(all.size(), 12u) << row;
        continue;
      }
      for (const int64_t one : {int64_t{0}, row - 1, row, row + 1, int64_t{11}})
        EXPECT_TRUE(all.contains(static_cast<int32_t>(one))) << row << " " << one;
      EXPECT_EQ(all.size(), (row == 1 || row == 10 ? 4u : 5u) + 2u) << row;
      differs = differs || all != listed(pattern, 1 - head, row);
    }
  EXPECT_TRUE(differs) << "heads draw blocks of their own";
  // Whatever head is the first here.
  const Pattern second =
      pattern_of(bigbird(2, true), false, {.queries = 23, .block = 3, .first_head = 2, .heads = 1});
  for (int64_t row = 0; row < 12; ++row)
    EXPECT_EQ(listed(second, 0, row), listed(pattern, 1, row)) << row;
}

TEST(Sight, TheFirstBlockMayStandForDrawnOnes) {
  const Pattern pattern = pattern_of(bigbird(2, false), false, {.queries = 24, .heads = 5});
  EXPECT_EQ(pattern.lists.starts.dim(0), 1) << "all heads look alike";
  EXPECT_EQ(listed(pattern, 0, 1), (Blocks{0, 0, 0, 1, 2, 11}));
  EXPECT_EQ(listed(pattern, 0, 5), (Blocks{0, 0, 0, 4, 5, 6, 11}));
  EXPECT_EQ(listed(pattern, 0, 10), (Blocks{0, 0, 0, 9, 10, 11}));
  EXPECT_EQ(PatternView(pattern, 0, 4, 24, 24).times(10, 1), 3);
}

TEST(Sight, AShortBigBirdSeesAll) {
  EXPECT_FALSE(pattern_of(bigbird(2, true), false, {.queries = 18}).lists.size) << "9 blocks";
  EXPECT_TRUE(pattern_of(bigbird(2, true), false, {.queries = 19}).lists.size) << "10 blocks";
  EXPECT_FALSE(saves(bigbird(2, true), false, 18));
  EXPECT_TRUE(saves(bigbird(2, true), false, 40));
}

TEST(Sight, ACausalBigBirdDrawsFromWhatIsBefore) {
  const Pattern pattern = pattern_of(bigbird(1, true), true, {.queries = 20});
  EXPECT_EQ(pattern.after, 0);
  EXPECT_EQ(listed(pattern, 0, 0), (Blocks{0}));
  EXPECT_EQ(listed(pattern, 0, 1), (Blocks{0, 1}));
  EXPECT_EQ(listed(pattern, 0, 2), (Blocks{0, 1, 2}));
  EXPECT_EQ(listed(pattern, 0, 3), (Blocks{0, 1, 2, 3}));
  for (int64_t row = 4; row < 10; ++row) {
    const Blocks all = listed(pattern, 0, row);
    EXPECT_EQ(all.size(), 4u);
    EXPECT_EQ(*all.rbegin(), row);
    // Later tokens change nothing.
    const Pattern longer = pattern_of(bigbird(1, true), true, {.queries = 100});
    EXPECT_EQ(listed(longer, 0, row), all);
    const Pattern one =
        pattern_of(bigbird(1, true), true, {.queries = 1, .first_query = 2 * row + 1});
    EXPECT_EQ(listed(one, 0, 0), all) << "as when it is decoded";
  }
}

TEST(Sight, FixedStretchesSeeTheLastBlockOfOthers) {
  const SightSpec spec{.kind = SightKind::fixed, .block = 1, .stretch = 3};
  const Pattern both = pattern_of(spec, false, {.queries = 8});
  EXPECT_EQ(listed(both, 0, 0), (Blocks{0, 1, 2, 5}));
  EXPECT_EQ(listed(both, 0, 4), (Blocks{2, 3, 4, 5}));
  EXPECT_EQ(listed(both, 0, 7), (Blocks{2, 5, 6, 7}));
  const Pattern causal = pattern_of(spec, true, {.queries = 8});
  EXPECT_EQ(listed(causal, 0, 0), (Blocks{0}));
  EXPECT_EQ(listed(causal, 0, 4), (Blocks{2, 3, 4}));
  EXPECT_EQ(listed(causal, 0, 7), (Blocks{2, 5, 6, 7}));
}

TEST(Sight, KeysAQueryAreWhatAttentionCounts) {
  EXPECT_DOUBLE_EQ(keys_per_query({}, true, 10), 5.5);
  EXPECT_DOUBLE_EQ(keys_per_query({}, false, 10), 10);
  const SightSpec window{.kind = SightKind::window, .window = 4};
  EXPECT_DOUBLE_EQ(keys_per_query(window, true, 10), (1 + 2 + 3 + 7 * 4) / 10.0);
  EXPECT_DOUBLE_EQ(keys_per_query(window, false, 10), (3 + 4 + 6 * 5 + 4 + 3) / 10.0);
  // Of ten queries seven do not have the first token near them, and it asks all ten.
  const SightSpec global{.kind = SightKind::global, .window = 4, .marks = {.first = 1}};
  EXPECT_DOUBLE_EQ(keys_per_query(global, false, 10), (44 + 7 + 10) / 10.0);
  const SightSpec fixed{.kind = SightKind::fixed, .block = 2, .stretch = 2};
  EXPECT_DOUBLE_EQ(keys_per_query(fixed, false, 8), 6);
}

data::Sequence two_rows() {
  data::Sequence made;
  made.tokens = Tensor::from(std::vector<int32_t>{9, 5, 7, 5, 3, 9, 9, 9, 5, 5}, {2, 5});
  made.segments = Tensor::from(std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, -1}, {2, 5});
  return made;
}

std::vector<int32_t> numbers(const Tensor& x) {
  return {x.data<int32_t>(), x.data<int32_t>() + x.size()};
}

TEST(Marks, AreByPlaceAndById) {
  const data::Sequence rows = two_rows();
  EXPECT_EQ(numbers(marks_of({.first = 1}, rows)),
            (std::vector<int32_t>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(marks_of({.first = 0, .every = 2}, rows)),
            (std::vector<int32_t>{1, 0, 1, 0, 1, 1, 0, 1, 0, 0}))
      << "padding is never marked";
  EXPECT_EQ(numbers(marks_of({.first = 0, .token = 5}, rows)),
            (std::vector<int32_t>{0, 1, 0, 1, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(numbers(marks_of({.first = 0, .until = 7}, rows)),
            (std::vector<int32_t>{1, 1, 1, 0, 0, 0, 0, 0, 0, 0}))
      << "the second row has no 7";
  EXPECT_EQ(numbers(marks_of({.first = 3, .until = 5}, rows)),
            (std::vector<int32_t>{1, 1, 1, 0, 0, 1, 1, 1, 1, 0}));
}

TEST(Marks, CountFromTheBeginningOfASegment) {
  data::Sequence rows = two_rows();
  rows.segments = Tensor::from(std::vector<int32_t>{0, 0, 1, 1, 1, -1, 4, 4, 2, 2}, {2, 5});
  EXPECT_EQ(numbers(begins_of(rows.segments)),
            (std::vector<int32_t>{0, 0, 2, 2, 2, 0, 1, 1, 3, 3}));
  EXPECT_EQ(numbers(begins_of(two_rows().segments)),
            (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 4}))
      << "padding is a segment";
  EXPECT_FALSE(begins_of(two_rows().segments.rows(0, 1)).defined()) << "it begins with its row";
  EXPECT_FALSE(begins_of(two_rows().segments, true).defined()) << "nor does padding for a decoder";
  const Tensor padded = Tensor::from(std::vector<int32_t>{0, 0, 1, -1, -1}, {1, 5});
  EXPECT_EQ(numbers(begins_of(padded, true)), (std::vector<int32_t>{0, 0, 2, 2, 2}));
  EXPECT_EQ(numbers(marks_of({.first = 1}, rows)),
            (std::vector<int32_t>{1, 0, 1, 0, 0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(numbers(marks_of({.first = 0, .every = 2}, rows)),
            (std::vector<int32_t>{1, 0, 1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(numbers(marks_of({.first = 0, .until = 5}, rows)),
            (std::vector<int32_t>{1, 1, 1, 1, 0, 0, 0, 0, 1, 0}))
      << "each segment has an end of its own";
}

TEST(Marks, RowsAreTakenAndPutBack) {
  const data::Sequence sequence = two_rows();
  const MarkedRows rows = marked_rows(marks_of({.first = 0, .token = 5}, sequence), {});
  ASSERT_EQ(rows.most, 2);
  EXPECT_EQ(numbers(at_rows(sequence.tokens, rows, -7)), (std::vector<int32_t>{5, 5, 5, -7}));
  const Tensor x = test::random_tensor({2, 5, 3}, 1);
  const Tensor taken = ops::take_rows(Var(x), rows.taken).value();
  for (int64_t c = 0; c < 3; ++c) {
    EXPECT_EQ(taken.data<double>()[c], x.data<double>()[1 * 3 + c]);
    EXPECT_EQ(taken.data<double>()[3 + c], x.data<double>()[3 * 3 + c]);
    EXPECT_EQ(taken.data<double>()[6 + c], x.data<double>()[8 * 3 + c]);
    EXPECT_EQ(taken.data<double>()[9 + c], 0);
  }
  const Tensor other = test::random_tensor({2, 2, 3}, 2),
               made = with_rows(Var(x), Var(other), rows).value();
  const std::map<int64_t, int64_t> from{{1, 0}, {3, 1}, {8, 2}};
  for (int64_t row = 0; row < 10; ++row)
    for (int64_t c = 0; c < 3; ++c) {
      const auto marked = from.find(row);
      const double wanted = marked == from.end() ? x.data<double>()[row * 3 + c]
                                                 : other.data<double>()[marked->second * 3 + c];
      EXPECT_EQ(made.data<double>()[row * 3 + c], wanted) << row;
    }
}

}  // namespace
}  // namespace skein
