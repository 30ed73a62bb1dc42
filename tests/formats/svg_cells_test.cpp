#include "skein/formats/svg_cells.h"

#include <gtest/gtest.h>
#include <regex>

#include "skein/core/error.h"

#include "formats/occurrences.h"

namespace skein::formats {
namespace {

using test::count;

CellPicture of_two_heads() {
  return {
      .title = "who looks at whom",
      .row_labels = {"a", "b"},
      .column_labels = {"x", "y", "z"},
      .grids = {{"head 0", 2, 3, {0, 0, 1, 0.5, 0.5, 0.5}}, {"head 1", 2, 3, {0, 0, 0, 0, 0, 0}}},
      .across = 1};
}

TEST(SvgCells, DrawEveryShadeOnce) {
  const std::string svg = cells_svg(of_two_heads());
  // One cell of the darkest, one rectangle of three cells, and nothing for white.
  EXPECT_EQ(count(svg, "<path"), 2);
  EXPECT_EQ(count(svg, "fill=\"#08306b\" d=\"M34 28h12v12h-12z\""), 1);
  EXPECT_EQ(count(svg, "fill=\"#4292c6\" d=\"M10 40h36v12h-36z\""), 1);
  EXPECT_EQ(count(svg, "stroke=\"#888888\""), 2);
  EXPECT_EQ(count(svg, ">head 1</text>"), 1);
  EXPECT_EQ(count(svg, ">z</text>"), 2);
}

TEST(SvgCells, StandSideBySide) {
  CellPicture picture = of_two_heads();
  const std::string below = cells_svg(picture);
  picture.across = 4;
  const std::string beside = cells_svg(picture);
  const std::regex second("translate\\(([0-9]+),([0-9]+)\\)\">\n<text[^>]*>head 1");
  std::smatch low, right;
  ASSERT_TRUE(std::regex_search(below, low, second));
  ASSERT_TRUE(std::regex_search(beside, right, second));
  EXPECT_GT(std::stoi(right[1]), std::stoi(low[1]));
  EXPECT_LT(std::stoi(right[2]), std::stoi(low[2]));
}

TEST(SvgCells, ReadNoTextAsMarkup) {
  CellPicture picture = of_two_heads();
  picture.title = "<script>&\"";
  picture.row_labels = {std::string("\x01\xff", 2), "\xEF\xBF\xBE"};
  const std::string svg = cells_svg(picture);
  EXPECT_EQ(count(svg, "&lt;script&gt;&amp;&quot;"), 1);
  EXPECT_EQ(count(svg, "<script"), 0);
  EXPECT_EQ(count(svg, "\\x01\\xFF"), 2);
  EXPECT_EQ(count(svg, "\xEF\xBF\xBE"), 0);
  EXPECT_EQ(count(svg, "\xEF\xBF\xBD"), 2);
}

TEST(SvgCells, ShrinkWhereNothingIsToBeRead) {
  CellPicture picture{.title = "", .row_labels = {}, .column_labels = {}, .grids = {}};
  for (const auto& [side, cell] : {std::pair{8, 12}, {64, 4}, {500, 1}}) {
    picture.grids = {{"", side, side, std::vector<double>(static_cast<size_t>(side * side), 1.0)}};
    const std::string wanted = fmt::format("h{}v{}h-{}z", side * cell, cell, side * cell);
    EXPECT_EQ(count(cells_svg(picture), wanted), side) << side;
  }
}

TEST(SvgCells, RefuseLabelsThatDoNotFit) {
  CellPicture picture = of_two_heads();
  picture.row_labels.pop_back();
  EXPECT_THROW(cells_svg(picture), Error);
}

}  // namespace
}  // namespace skein::formats
