#include "tensor/spans.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace skein::cuda {
namespace {

// Addresses that nobody reads.
std::byte* at(int64_t address) { return reinterpret_cast<std::byte*>(address); }

constexpr int64_t kPiece = 1 << 20;

TEST(Spans, CutBlocksAndJoinThemAgain) {
  Spans spans;
  EXPECT_EQ(spans.take(1), nullptr);
  spans.add(at(kPiece), kPiece);
  std::byte *const first = spans.take(1), *const second = spans.take(1000),
                   *const third = spans.take(513);
  EXPECT_EQ(first, at(kPiece));
  EXPECT_EQ(second, first + 512);
  EXPECT_EQ(third, second + 1024);
  EXPECT_EQ(spans.free_bytes(), kPiece - 512 - 1024 - 1024);
  spans.give(first);
  spans.give(third);
  EXPECT_EQ(spans.take(512), first) << "the shortest that is long enough";
  spans.give(first);
  spans.give(second);
  EXPECT_EQ(spans.largest_free(), kPiece) << "all of it in one";
  EXPECT_EQ(spans.take(kPiece + 1), nullptr);
  EXPECT_EQ(spans.take(kPiece), first);
}

TEST(Spans, PiecesSideBySideStayApart) {
  Spans spans;
  spans.add(at(kPiece), kPiece);
  spans.add(at(2 * kPiece), kPiece);
  EXPECT_EQ(spans.largest_free(), kPiece);
  std::byte* const block = spans.take(512);
  EXPECT_TRUE(spans.holds(block));
  EXPECT_TRUE(spans.holds(at(3 * kPiece - 1)));
  EXPECT_FALSE(spans.holds(at(3 * kPiece)));
  EXPECT_FALSE(spans.holds(at(kPiece - 1)));
  EXPECT_EQ(spans.remove_free_pieces(), std::vector{at(2 * kPiece)});
  spans.give(block);
  EXPECT_EQ(spans.remove_free_pieces(), std::vector{at(kPiece)});
  EXPECT_EQ(spans.free_bytes(), 0);
}

TEST(Spans, AbsorbWhatOthersHave) {
  Spans spans, other;
  spans.add(at(kPiece), kPiece);
  other.add(at(5 * kPiece), kPiece);
  std::byte* const block = other.take(4096);
  spans.absorb(other);
  EXPECT_FALSE(other.holds(block));
  EXPECT_EQ(spans.free_bytes(), 2 * kPiece - 4096);
  spans.give(block);
  EXPECT_EQ(spans.remove_free_pieces().size(), 2);
}

// Against a list of what is taken.
TEST(Spans, NeverGiveTheSameTwice) {
  Spans spans;
  for (int64_t piece = 1; piece <= 4; ++piece) spans.add(at(piece * 3 * kPiece), kPiece);
  std::mt19937 random(3);
  std::map<std::byte*, int64_t> taken;
  for (int turn = 0; turn < 20'000; ++turn) {
    if (random() % 2 == 0 && !taken.empty()) {
      const auto one = std::next(taken.begin(), random() % taken.size());
      spans.give(one->first);
      taken.erase(one);
      continue;
    }
    const auto size = static_cast<int64_t>(1 + random() % (kPiece / 8));
    std::byte* const block = spans.take(size);
    if (!block) continue;
    const auto after = taken.lower_bound(block);
    ASSERT_TRUE(after == taken.end() || block + size <= after->first);
    if (after != taken.begin()) {
      const auto before = std::prev(after);
      ASSERT_LE(before->first + before->second, block);
    }
    taken.emplace(block, size);
  }
  for (const auto& [block, size] : taken) spans.give(block);
  EXPECT_EQ(spans.remove_free_pieces().size(), 4);
}

}  // namespace
}  // namespace skein::cuda
