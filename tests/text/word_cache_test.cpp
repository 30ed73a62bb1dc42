// The ids of words that a thread remembers.
#include "text/word_cache.h"

#include <gtest/gtest.h>

namespace skein::text {
namespace {

using Ids = std::vector<int32_t>;

TEST(WordCaches, RememberTheWordsOfTwoTokenizers) {
  const uint64_t first = WordCache::next_serial(), second = WordCache::next_serial(),
                 third = WordCache::next_serial();
  int made = 0;
  const auto ids_of = [&](uint64_t tokenizer) {
    Ids ids;
    WordCache::of(tokenizer).append("word", ids, [&](std::string_view, Ids& own) {
      ++made;
      own.push_back(static_cast<int32_t>(tokenizer));
    });
    return ids;
  };
  for (int again = 0; again < 3; ++again)
    for (uint64_t tokenizer : {first, second})
      EXPECT_EQ(ids_of(tokenizer), (Ids{static_cast<int32_t>(tokenizer)}));
  EXPECT_EQ(made, 2);
  EXPECT_EQ(ids_of(third), (Ids{static_cast<int32_t>(third)}));
  EXPECT_EQ(ids_of(second), (Ids{static_cast<int32_t>(second)}));
  EXPECT_EQ(made, 3);
  EXPECT_EQ(ids_of(first), (Ids{static_cast<int32_t>(first)})) << "forgotten, and made again";
  EXPECT_EQ(made, 4);
}

}  // namespace
}  // namespace skein::text
