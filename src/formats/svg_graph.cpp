#include "skein/formats/svg_graph.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numbers>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"

#include "svg_page.h"

namespace skein::formats {
namespace {

// Pixels.
constexpr int64_t kPanel = 320, kMargin = 24, kNode = 5;
constexpr double kWidest = 6;
constexpr int kWidths = 64, kRounds = 300;
constexpr size_t kLongestNodeLabel = 16;  // bytes

struct Point {
  double x = 0, y = 0;
};

// Distances are in units of what nodes keep from each other where nothing holds them.
class Springs {
 public:
  explicit Springs(size_t nodes) : at_(nodes), force_(nodes) {
    const double radius = std::sqrt(static_cast<double>(nodes)) / 2;
    for (size_t i = 0; i < nodes; ++i) {
      const double turn =
          2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(nodes);
      at_[i] = {radius * std::sin(turn), -radius * std::cos(turn)};
    }
  }
  // No node goes farther than `most`.
  void step(const std::vector<std::pair<int64_t, int64_t>>& near, double most) {
    // What draws all to the middle keeps parts together that no link holds.
    for (size_t i = 0; i < at_.size(); ++i) force_[i] = {-0.1 * at_[i].x, -0.1 * at_[i].y};
    for (size_t i = 0; i < at_.size(); ++i)
      for (size_t j = i + 1; j < at_.size(); ++j) pull(i, j, [](double far) { return -1 / far; });
    for (const auto& [one, other] : near)
      if (one != other)
        pull(static_cast<size_t>(one), static_cast<size_t>(other),
             [](double far) { return far * far / 2; });
    for (size_t i = 0; i < at_.size(); ++i) {
      const double all = std::hypot(force_[i].x, force_[i].y), by = std::min(all, most);
      if (all <= 0) continue;
      at_[i].x += force_[i].x / all * by;
      at_[i].y += force_[i].y / all * by;
    }
  }
  const std::vector<Point>& places() const { return at_; }

 private:
  template <class F>
  void pull(size_t i, size_t j, const F& strength) {
    const double x = at_[j].x - at_[i].x, y = at_[j].y - at_[i].y,
                 far = std::max(std::hypot(x, y), 1e-3), by = strength(far) / far;
    force_[i].x += by * x;
    force_[i].y += by * y;
    force_[j].x -= by * x;
    force_[j].y -= by * y;
  }

  std::vector<Point> at_, force_;
};

// Of nodes, in pixels of a panel.
std::vector<Point> places_of(const GraphPicture& picture) {
  Springs springs(picture.nodes.size());
  for (int round = 0; round < kRounds; ++round)
    springs.step(picture.near, 0.5 * (kRounds - round) / kRounds);
  std::vector<Point> made = springs.places();
  Point low, high;
  for (const Point& one : made) {
    low = {std::min(low.x, one.x), std::min(low.y, one.y)};
    high = {std::max(high.x, one.x), std::max(high.y, one.y)};
  }
  const double side = std::max({high.x - low.x, high.y - low.y, 1e-3}),
               scale = static_cast<double>(kPanel - 2 * kMargin) / side;
  for (Point& one : made)
    one = {kPanel / 2.0 + scale * (one.x - (low.x + high.x) / 2),
           kPanel / 2.0 + scale * (one.y - (low.y + high.y) / 2)};
  return made;
}

std::string path_of(const GraphLink& link, const std::vector<Point>& places) {
  const Point &from = places[static_cast<size_t>(link.from)],
              &to = places[static_cast<size_t>(link.to)];
  if (link.from == link.to)
    return fmt::format("M{:.1f} {:.1f}a6 6 0 1 1 0.1 0", from.x, from.y - kNode);
  // The bend is to the right of the way, where y points down.
  const double x = to.x - from.x, y = to.y - from.y, bend = 0.12;
  return fmt::format("M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", from.x, from.y,
                     (from.x + to.x) / 2 - bend * y, (from.y + to.y) / 2 + bend * x, to.x, to.y);
}

// All links of one width are one path.
void add_links(const std::vector<GraphLink>& links, const std::vector<Point>& places,
               std::string& svg) {
  std::map<int, std::string> paths;
  for (const GraphLink& link : links) {
    const int step = static_cast<int>(std::lround(std::clamp(link.weight, 0.0, 1.0) * kWidths));
    if (step > 0) paths[step] += path_of(link, places);
  }
  for (const auto& [step, path] : paths)
    svg += fmt::format(
        "<path fill=\"none\" stroke=\"#4292c6\" stroke-opacity=\"0.7\" stroke-width=\"{:.2f}\" "
        "d=\"{}\"/>\n",
        kWidest * step / kWidths, path);
}

void add_panel(const GraphPicture& picture, const GraphPanel& panel,
               const std::vector<Point>& places, std::string& svg) {
  svg += fmt::format("<text x=\"4\" y=\"{}\" font-weight=\"bold\">{}</text>\n", kLine - 3,
                     svg_text(panel.title));
  add_links(panel.links, places, svg);
  for (size_t i = 0; i < places.size(); ++i)
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"#08306b\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        places[i].x, places[i].y, kNode, places[i].x + kNode + 1, places[i].y - kNode,
        svg_text(excerpt(picture.nodes[i], kLongestNodeLabel)));
}

void check(const GraphPicture& picture) {
  SKEIN_CHECK(!picture.panels.empty() && picture.across >= 1);
  const auto inside = [&](int64_t one, int64_t other) {
    return std::min(one, other) >= 0 && std::max(one, other) < std::ssize(picture.nodes);
  };
  for (const auto& [one, other] : picture.near) SKEIN_CHECK(inside(one, other));
  for (const GraphPanel& panel : picture.panels)
    for (const GraphLink& link : panel.links) SKEIN_CHECK(inside(link.from, link.to));
}

}  // namespace

std::string graph_svg(const GraphPicture& picture) {
  check(picture);
  const std::vector<Point> places = places_of(picture);
  const int64_t count = std::ssize(picture.panels), across = std::min(picture.across, count),
                lines = pieces_of(count, across), head = kLine + 8;
  std::string svg = svg_begin(std::max(across * kPanel + kGap, svg_width_of(picture.title)),
                              head + lines * kPanel, picture.title);
  for (int64_t i = 0; i < count; ++i) {
    svg += fmt::format("<g transform=\"translate({},{})\">\n", kGap / 2 + i % across * kPanel,
                       head + i / across * kPanel);
    add_panel(picture, picture.panels[static_cast<size_t>(i)], places, svg);
    svg += "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace skein::formats
