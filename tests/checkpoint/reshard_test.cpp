#include "skein/checkpoint/reshard.h"

#include <chrono>
#include <set>

#include "scenario.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

// A region of the shape, drawn by number.
Region random_region(const std::vector<int64_t>& shape, uint64_t draw) {
  Region region;
  uint64_t at = 0;
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(philox(draw, 0, at++)[0] % (bound + 1));
  };
  for (const int64_t dim : shape) {
    region.start.push_back(below(dim - 1));
    region.extent.push_back(1 + below(dim - 1 - region.start.back()));
  }
  const int64_t size = element_count(region.extent);
  region.begin = below(size);
  region.end = region.begin + below(size - region.begin);
  return region;
}

std::set<int64_t> elements_of(const Region& region, const std::vector<int64_t>& shape) {
  std::set<int64_t> all;
  for (int64_t k = region.begin; k < region.end; ++k) all.insert(global_index(region, shape, k));
  return all;
}

int64_t shared(const Region& a, const Region& b, const std::vector<int64_t>& shape) {
  int64_t count = 0;
  const auto other = elements_of(b, shape);
  for (const int64_t index : elements_of(a, shape)) count += other.contains(index);
  return count;
}

TEST(Overlap, CopiesExactlyWhatIsShared) {
  const std::vector<std::vector<int64_t>> shapes = {{}, {17}, {5, 7}, {3, 4, 5}, {2, 3, 2, 4}};
  for (uint64_t draw = 0; draw < 2000; ++draw) {
    const auto& shape = shapes[draw % shapes.size()];
    const Region from = random_region(shape, 2 * draw), to = random_region(shape, 2 * draw + 1);
    std::vector<int64_t> source, target(static_cast<size_t>(to.size()), -1);
    for (int64_t k = from.begin; k < from.end; ++k) source.push_back(global_index(from, shape, k));
    const int64_t copied =
        copy_overlap(from, DType::i64, reinterpret_cast<const std::byte*>(source.data()), to,
                     DType::i64, reinterpret_cast<std::byte*>(target.data()));
    EXPECT_EQ(copied, shared(from, to, shape)) << draw;
    EXPECT_TRUE(copied == 0 || may_overlap(from, to));
    const auto held = elements_of(from, shape);
    for (int64_t k = to.begin; k < to.end; ++k) {
      const int64_t index = global_index(to, shape, k);
      EXPECT_EQ(target[static_cast<size_t>(k - to.begin)], held.contains(index) ? index : -1)
          << draw;
    }
  }
}

TEST(Tiling, AcceptsEveryLayout) {
  for (const Case& one : cases())
    for (const Spec& spec : specs()) {
      std::vector<Region> regions;
      for (int rank = 0; rank < one.ranks; ++rank)
        for (const Region& region : one.layout(spec.shape, one.ranks, rank)) {
          EXPECT_EQ(misfit(region, spec.shape), "");
          regions.push_back(region);
        }
      EXPECT_EQ(tiling_fault(regions, spec.shape), "") << one.name << " " << spec.name;
    }
}

TEST(Tiling, FindsGapsAndOverlaps) {
  const Region left{{0, 0}, {4, 2}, 0, 8}, right{{0, 2}, {4, 2}, 0, 8}, late{{0, 2}, {4, 2}, 1, 8};
  const Region top{{0, 0}, {1, 4}, 0, 4};
  EXPECT_EQ(tiling_fault({left, right}, {4, 4}), "");
  EXPECT_EQ(tiling_fault({left, late}, {4, 4}), "its pieces hold 15 of its 16 elements");
  EXPECT_NE(tiling_fault({left, right, top}, {4, 4}).find("2 elements more than once"),
            std::string::npos);
  EXPECT_NE(tiling_fault({left, left}, {4, 4}).find("8 elements more than once"),
            std::string::npos);
}

// An enemy lists what would take a square of it, or all the rows of a tensor that is not there.
TEST(Tiling, TakesLittleTimeForManyPieces) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Region> rows, columns, ranges;
  for (int64_t i = 0; i < 100'000; ++i) {
    rows.push_back({{i}, {1}, 0, 1});
    ranges.push_back({{i % 2, 0}, {2, 1 << 20}, i, i + 1});
  }
  EXPECT_NE(tiling_fault(rows, {100'000}).find("100000 different boxes; 4096"), std::string::npos);
  for (int64_t i = 0; i < 4096; ++i) columns.push_back({{0, i}, {3, 1}, 0, 3});
  EXPECT_EQ(tiling_fault(columns, {3, 4096}), "");
  EXPECT_NE(tiling_fault(ranges, {3, 1 << 20}).find("ranges of boxes that meet"),
            std::string::npos);
  const int64_t high = int64_t{1} << 40;
  const Region left{{0, 0}, {high, 2}, 0, 2 * high}, right{{0, 1}, {high, 2}, 0, 2 * high};
  EXPECT_NE(tiling_fault({left, right}, {high, 3}).find("1 elements more than once"),
            std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Misfit, NamesWhatLeavesTheTensor) {
  EXPECT_NE(misfit({{0}, {5}, 0, 5}, {4}).find("leaves the shape [4]"), std::string::npos);
  EXPECT_NE(misfit({{3}, {2}, 0, 2}, {4}).find("leaves the shape"), std::string::npos);
  EXPECT_NE(misfit({{0}, {4}, 2, 5}, {4}).find("leaves the box"), std::string::npos);
  EXPECT_NE(misfit({{0}, {4}, 3, 2}, {4}).find("leaves the box"), std::string::npos);
  EXPECT_NE(misfit({{0, 0}, {4, 1}, 0, 4}, {4}).find("2 dims"), std::string::npos);
  expect_error(ExitCode::failure,
               [] {
                 element_count({int64_t{1} << 40, int64_t{1} << 40});
               },
               {"shape"});
}

}  // namespace
}  // namespace skein::checkpoint
