// Where an axis begins, ends and is marked.
#pragma once

#include <string>
#include <vector>

#include "skein/scaling/report/figure.h"

namespace skein {

struct Range {
  double low = 0, high = 1;
};
// Of all that a panel draws on one axis, with some room; never empty.
Range range_of(const Panel& panel, bool x);

struct Tick {
  double at = 0;
  std::string text;
};
// As many as have room in so many pixels.
std::vector<Tick> ticks_of(const Axis& axis, const Range& range, int pixels);

}  // namespace skein
