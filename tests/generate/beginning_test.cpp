// What sequences begin from, as a batch.
#include "generate/beginning.h"

#include <gtest/gtest.h>

namespace skein::generate {
namespace {

std::vector<int32_t> numbers(const Tensor& tensor) {
  const auto all = tensor.span<int32_t>();
  return {all.begin(), all.end()};
}

TEST(Beginning, EndsInOneColumn) {
  const Tokens first{1, 2, 3}, second{9};
  const data::Batch batch = side_by_side({{&first}, {&second}});
  EXPECT_EQ(numbers(batch.tokens), (std::vector<int32_t>{1, 2, 3, 0, 0, 9}));
  EXPECT_EQ(numbers(batch.positions), (std::vector<int32_t>{0, 1, 2, 0, 0, 0}));
  EXPECT_FALSE(batch.source.tokens.defined());
  EXPECT_TRUE(source_lengths({{&first}, {&second}}).empty());
}

TEST(Beginning, HasItsSourceFromTheFirstColumnOn) {
  const Tokens start{7}, first{4}, second{1, 2, 3};
  const std::vector<Beginning> both{{&start, &first}, {&start, &second}};
  const data::Batch batch = side_by_side(both);
  EXPECT_EQ(numbers(batch.tokens), (std::vector<int32_t>{7, 7}));
  EXPECT_EQ(numbers(batch.source.tokens), (std::vector<int32_t>{4, 0, 0, 1, 2, 3}));
  EXPECT_EQ(numbers(batch.source.positions), (std::vector<int32_t>{0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(numbers(batch.source.segments), (std::vector<int32_t>{0, -1, -1, 0, 0, 0}));
  EXPECT_EQ(numbers(batch.source.lengths), (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(source_lengths(both), (std::vector<int64_t>{1, 3}));
  const data::Batch alike = side_by_side({both[1], both[1]});
  EXPECT_FALSE(alike.source.segments.defined()) << "nothing is to be kept apart";
  EXPECT_EQ(numbers(alike.source.lengths), (std::vector<int32_t>{3, 3}));
}

TEST(Beginning, IsEqualByItsTokens) {
  const Tokens start{7}, same{7}, first{4}, second{4, 5}, copy{4};
  EXPECT_EQ((Beginning{&start, &first}), (Beginning{&same, &copy}));
  EXPECT_NE((Beginning{&start, &first}), (Beginning{&start, &second}));
  EXPECT_NE((Beginning{&start, &first}), (Beginning{&first, &first}));
  EXPECT_NE((Beginning{&start, &first}), (Beginning{&start}));
  EXPECT_EQ(Beginning{&start}, Beginning{&same});
}

}  // namespace
}  // namespace skein::generate
