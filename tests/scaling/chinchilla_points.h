// Runs to fit: those read off figure 4 of Hoffmann et al. (2022) by Besiroglu et al. (2024), and
// runs drawn from a law.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "skein/core/philox.h"
#include "skein/scaling/fit/fit.h"

namespace skein::test {

// All 245, or without the five with the highest losses, as their authors fit them.
inline std::vector<scaling::ScalingPoint> chinchilla_points(bool all = false) {
  std::ifstream in("scaling/data/chinchilla_245.csv");
  std::vector<scaling::ScalingPoint> points;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream fields(line);
    std::string name;
    scaling::ScalingPoint point;
    fields >> name >> point.n >> point.d >> point.c >> point.loss;
    point.run = point.cluster = static_cast<int64_t>(points.size());
    points.push_back(point);
  }
  EXPECT_EQ(points.size(), 245);
  if (all) return points;
  std::vector<double> losses;
  for (const scaling::ScalingPoint& point : points) losses.push_back(point.loss);
  std::sort(losses.rbegin(), losses.rend());
  std::erase_if(points,
                [&](const scaling::ScalingPoint& point) { return point.loss >= losses[4]; });
  EXPECT_EQ(points.size(), 240);
  return points;
}

// Sizes by budgets around the optimum, C = 6 N D; ln loss with normal noise.
template <class Loss>
std::vector<scaling::ScalingPoint> drawn_points(const Loss& loss, int budgets, int sizes,
                                                double noise, uint64_t seed) {
  std::vector<scaling::ScalingPoint> points;
  for (int b = 0; b < budgets; ++b) {
    const double c = 1e15 * std::pow(10.0, 2.5 * b / (budgets - 1));
    for (int s = 0; s < sizes; ++s) {
      scaling::ScalingPoint point;
      point.n = std::sqrt(c / 6 / 20) * std::pow(8.0, 2.0 * s / (sizes - 1) - 1);
      point.d = c / (6 * point.n);
      point.c = c;
      point.run = point.cluster = static_cast<int64_t>(points.size());
      point.loss = loss(point) * std::exp(noise * normal_at(seed, 0, points.size()));
      points.push_back(point);
    }
  }
  return points;
}

inline std::vector<scaling::ScalingPoint> drawn_points(const scaling::ChinchillaLaw& law,
                                                       int budgets, int sizes, double noise,
                                                       uint64_t seed) {
  return drawn_points(
      [&](const scaling::ScalingPoint& point) { return law.loss(point.n, point.d); }, budgets,
      sizes, noise, seed);
}

inline scaling::fit::ParametricOptions point_estimate(
    scaling::fit::LossKind kind = scaling::fit::LossKind::huber) {
  scaling::fit::ParametricOptions options;
  options.kind = kind;
  options.resamples = 0;
  return options;
}

}  // namespace skein::test
