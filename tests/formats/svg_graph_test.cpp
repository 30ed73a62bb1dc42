#include "skein/formats/svg_graph.h"

#include <cmath>
#include <gtest/gtest.h>
#include <regex>

#include "skein/core/error.h"

#include "formats/occurrences.h"

namespace skein::formats {
namespace {

using test::count;

GraphPicture path_of_four() {
  return {.title = "who looks at whom",
          .nodes = {"a", "b", "c", "<d>"},
          .near = {{0, 1}, {1, 2}, {2, 3}, {3, 3}},
          .panels = {{"head 0", {{0, 1, 1}, {1, 0, 0.5}, {2, 3, 0.001}, {3, 3, 0.25}}},
                     {"head 1", {{0, 1, 1}, {2, 1, 1}}}}};
}

// Of the first panel.
std::vector<std::pair<double, double>> places(const std::string& svg, size_t nodes) {
  const std::regex circle("cx=\"([-0-9.]+)\" cy=\"([-0-9.]+)\"");
  std::vector<std::pair<double, double>> made;
  for (std::sregex_iterator at(svg.begin(), svg.end(), circle), end;
       at != end && made.size() < nodes; ++at)
    made.emplace_back(std::stod((*at)[1]), std::stod((*at)[2]));
  return made;
}

double distance(const std::pair<double, double>& a, const std::pair<double, double>& b) {
  return std::hypot(a.first - b.first, a.second - b.second);
}

TEST(SvgGraph, DrawLinksAsWideAsTheyWeigh) {
  const std::string svg = graph_svg(path_of_four());
  EXPECT_EQ(svg, graph_svg(path_of_four()));
  // What weighs next to nothing is not drawn, and links of one width are one path.
  EXPECT_EQ(count(svg, "<path"), 4);
  for (const char* const width : {"6.00", "3.00", "1.50"})
    EXPECT_GE(count(svg, fmt::format("stroke-width=\"{}\"", width)), 1) << width;
  EXPECT_EQ(count(svg, "<circle"), 8);
  EXPECT_EQ(count(svg, "a6 6 0 1 1"), 1) << "a node that is linked to itself";
  EXPECT_EQ(count(svg, "&lt;d&gt;"), 2);
  EXPECT_EQ(count(svg, ">head 1</text>"), 1);
}

TEST(SvgGraph, PlaceLinkedNodesNearEachOther) {
  const auto at = places(graph_svg(path_of_four()), 4);
  ASSERT_EQ(at.size(), 4u);
  EXPECT_LT(distance(at[0], at[1]), distance(at[0], at[2]));
  EXPECT_LT(distance(at[0], at[2]), distance(at[0], at[3]));
  for (const auto& [x, y] : at) {
    EXPECT_GE(std::min(x, y), 0);
    EXPECT_LE(std::max(x, y), 320);
  }
}

TEST(SvgGraph, PlaceNodesWithoutLinks) {
  GraphPicture picture{.title = "", .nodes = {"a", "b", "c"}, .near = {}, .panels = {{"", {}}}};
  const auto at = places(graph_svg(picture), 3);
  for (size_t i = 0; i < 3; ++i) EXPECT_GT(distance(at[i], at[(i + 1) % 3]), 20);
  picture.nodes = {"alone"};
  EXPECT_EQ(places(graph_svg(picture), 1).front(), (std::pair<double, double>(160, 160)));
  picture.nodes = {};
  EXPECT_EQ(count(graph_svg(picture), "<circle"), 0);
}

TEST(SvgGraph, RefuseLinksToNoNode) {
  GraphPicture picture = path_of_four();
  picture.near = {{0, 4}};
  EXPECT_THROW(graph_svg(picture), Error);
  picture = path_of_four();
  picture.panels[1].links[0].from = -1;
  EXPECT_THROW(graph_svg(picture), Error);
}

}  // namespace
}  // namespace skein::formats
