// How large a figure is, and where its axes begin, end and are marked.
#pragma once

#include <string>
#include <vector>

#include "skein/plot/figure.h"

namespace skein::plot {

// In pixels, without a legend; panels stand in rows.
struct FigureSize {
  int width = 0, height = 0, columns = 1, rows = 1;
};
FigureSize size_of(const Figure& figure);

struct Tick {
  double at = 0;
  std::string text;
};
struct AxisScale {
  double low = 0, high = 1;  // of all that a panel draws on the axis, with some room; never equal
  std::vector<Tick> ticks = {};  // as many as have room
};
AxisScale x_scale(const Figure& figure, const Panel& panel);
AxisScale y_scale(const Figure& figure, const Panel& panel);

}  // namespace skein::plot
