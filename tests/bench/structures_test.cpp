#include "skein/bench/structures.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"

namespace skein::bench {
namespace {

bool sees(const std::string& name, int64_t query, int64_t key) {
  const kernels::Pattern pattern = structure(name, 2, 20, 8);
  return kernels::PatternView(pattern, 1, 0, 20, 20).times(query, key) > 0;
}

TEST(Structures, AreWhatTheyAreCalled) {
  for (int64_t query = 0; query < 20; ++query)
    for (int64_t key = 0; key < 20; ++key) {
      const bool near = std::abs(query - key) <= 4;
      EXPECT_EQ(sees("causal", query, key), key <= query);
      EXPECT_TRUE(sees("full", query, key));
      EXPECT_EQ(sees("band", query, key), near);
      EXPECT_EQ(sees("documents", query, key), key <= query && key / 8 == query / 8);
      EXPECT_EQ(sees("prefix", query, key), key <= query || key < 8);
      EXPECT_EQ(sees("marked", query, key), near || key % 8 == 0);
      const bool listed = std::abs(query - key) <= 1 || key == 0 || key == 19;
      EXPECT_TRUE(sees("blocks", query, key) || !listed) << query << " " << key;
    }
  EXPECT_EQ(structure_names().size(), 7u);
}

TEST(Structures, AreRefusedByName) {
  EXPECT_EQ(refusal_of([] { structure("rings", 1, 8, 4); }),
            "bench.attention has 'rings'; it may name causal, full, band, documents, blocks, "
            "prefix, marked and model");
  EXPECT_EQ(refusal_of([] { structure("band", 1, 8, 0); }),
            "bench.reach=0 must be at least 1 token");
}

TEST(StructurePictures, ShowWhoSeesWhom) {
  const formats::CellPicture picture = structure_picture("prefix", 10, 4);
  const formats::CellGrid& grid = picture.grids.front();
  ASSERT_EQ(grid.rows, 10);
  for (int64_t i = 0; i < 100; ++i)
    EXPECT_EQ(grid.shades[static_cast<size_t>(i)], i % 10 <= i / 10 || i % 10 < 4 ? 1 : 0) << i;
}

// 512 tokens are cells of 4 by 4, of which those on the diagonal have 10 visible pairs of 16.
TEST(StructurePictures, PutTokensTogether) {
  const formats::CellGrid grid = structure_picture("causal", 512, 4).grids.front();
  ASSERT_EQ(grid.rows, 128);
  EXPECT_EQ(grid.shades[0], 10.0 / 16);
  EXPECT_EQ(grid.shades[1], 0);
  EXPECT_EQ(grid.shades[128], 1);
}

}  // namespace
}  // namespace skein::bench
