#include "skein/runs/curve.h"

#include <cmath>
#include <limits>

namespace skein::runs {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// fmin and fmax pass over NaN.
Point merged(const Point& one, const Point& other) {
  const float mean = std::isnan(one.mean)     ? other.mean
                     : std::isnan(other.mean) ? one.mean
                                              : one.mean / 2 + other.mean / 2;
  return {(one.step + other.step) / 2, mean, std::fmin(one.low, other.low),
          std::fmax(one.high, other.high)};
}

}  // namespace

void Curve::halve() {
  for (size_t i = 0; i + 1 < points_.size(); i += 2)
    points_[i / 2] = merged(points_[i], points_[i + 1]);
  points_.resize(points_.size() / 2);
  each_ *= 2;
  in_last_ = each_;
}

void Curve::add(int64_t step, double value) {
  if (points_.size() == kMostPoints && in_last_ == each_) halve();
  if (points_.empty() || in_last_ == each_) {
    points_.push_back({0, kNone, kNone, kNone});
    in_last_ = finite_in_last_ = 0;
  }
  Point& point = points_.back();
  point.step += (static_cast<double>(step) - point.step) / static_cast<double>(++in_last_);
  const auto near = static_cast<float>(value);
  if (std::isfinite(near)) {
    ++finite_in_last_;
    point.mean = finite_in_last_ == 1
                     ? near
                     : point.mean + (near - point.mean) / static_cast<float>(finite_in_last_);
    point.low = std::fmin(point.low, near);
    point.high = std::fmax(point.high, near);
  }
  ++records_;
  last_ = std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace skein::runs
