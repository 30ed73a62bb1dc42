// Plots as data: what is drawn, before gnuplot or the page of a report draws it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace skein::plot {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// What a colour stands for; its value depends on where it is seen. From `size` on kSizeInks of
// them, dark to bright, by rising size.
enum class Ink { text, faint, grid, envelope, isoflop, parametric, alert, size };
constexpr int kSizeInks = 9, kInks = static_cast<int>(Ink::size) + kSizeInks;
// Of the one with number `index` among `count` in rising order.
Ink size_ink(int64_t index, int64_t count);

struct InkColours {
  const char *name, *light, *dark;  // "size-3"; "#rrggbb" on a light and on a dark ground
};
const InkColours& colours_of(Ink ink);

enum class Mark { line, dashes, dots, rings, diamonds, band };

struct Sample {
  double x = kUnknown, y = kUnknown;  // unknown: a line is interrupted
  std::string name = {};              // of the run; shown where `named`
  bool named = false;
  double low = kUnknown, high = kUnknown;  // of a band
};

struct Series {
  std::string title;  // "": stands in no legend
  Ink ink = Ink::text;
  Mark mark = Mark::line;
  double weight = 2;  // width of a line, size of a point
  std::vector<Sample> samples = {};
};
// Those that are drawn: of points every k-th, so that no more than 4,000 are left. More are a blot,
// and slow to scroll.
std::vector<Sample> drawn_samples(const Series& series);

struct Axis {
  std::string label;
  bool logarithmic = false;
  bool powers = false;  // ticks of a logarithmic one as powers of ten, else as 10 k, 10 M, 10 B
};

struct Panel {
  std::string title;
  Axis x, y;
  std::vector<Series> series = {};
};

struct Figure {
  std::string name;  // of its files
  std::string title, caption = {};
  std::string convention = {};
  std::string problem = {};  // one sentence why it is left out; then there are no panels
  std::vector<Panel> panels = {};
};

// panel,series,x,y,low,high,run: every number that is drawn, 17 digits, unknown ones empty.
std::string figure_csv(const Figure& figure);

}  // namespace skein::plot
