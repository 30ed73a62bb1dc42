// One number of a run over its steps, in memory that does not grow with the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skein::runs {

// Of so many records that follow each other: the mean of their steps, and mean, least and greatest
// of those values that are finite; NaN where none is. Two points become one as if each had as many
// of these.
struct Point {
  double step = 0;
  float mean = 0, low = 0, high = 0;
};

class Curve {
 public:
  // Where they are full, two neighbours become one, and from then on each is of twice as many
  // records. What becomes of records follows from their order alone.
  static constexpr size_t kMostPoints = 512;

  void add(int64_t step, double value);
  const std::vector<Point>& points() const { return points_; }
  int64_t records_of_point() const { return each_; }  // the last may have fewer
  int64_t records() const { return records_; }
  double last() const { return last_; }  // NaN where it is not finite

 private:
  void halve();

  std::vector<Point> points_;
  int64_t each_ = 1, in_last_ = 0, finite_in_last_ = 0, records_ = 0;
  double last_ = 0;
};

}  // namespace skein::runs
