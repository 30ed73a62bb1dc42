#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/scaling/fit/isoflop.h"

#include "intervals.h"
#include "last_point_envelope.h"

namespace skein::scaling::fit {
namespace {

constexpr size_t kBudgets = 1500;
constexpr double kWindow = 0.05;
constexpr size_t kMostForOffset = 64;

// ln L over ln C of one run.
struct Curve {
  int64_t run = 0;
  double n = 0, flops_per_token = 0;
  std::vector<double> c, loss;
  std::vector<double> on_grid;  // kUnknown outside of the curve
};

Curve smoothed(const std::vector<CurvePoint>& points, const ScalingPoint& last) {
  Curve curve{last.run, last.n, last.c / last.d, {}, {}, {}};
  size_t begin = 0, end = 0;
  double sum = 0;
  for (const CurvePoint& point : points) {
    for (; end < points.size() && points[end].tokens <= point.tokens * (1 + kWindow); ++end)
      sum += std::log(points[end].loss);
    for (; points[begin].tokens < point.tokens * (1 - kWindow); ++begin)
      sum -= std::log(points[begin].loss);
    const double c = std::log(point.tokens * curve.flops_per_token);
    if (!curve.c.empty() && !(c > curve.c.back())) continue;
    curve.c.push_back(c);
    curve.loss.push_back(sum / (end - begin));
  }
  return curve;
}

double interpolated(const Curve& curve, double c) {
  if (curve.c.empty() || c < curve.c.front() || c > curve.c.back()) return kUnknown;
  const size_t above = std::lower_bound(curve.c.begin(), curve.c.end(), c) - curve.c.begin();
  if (above == 0) return curve.loss.front();
  const double share = (c - curve.c[above - 1]) / (curve.c[above] - curve.c[above - 1]);
  return curve.loss[above - 1] + share * (curve.loss[above] - curve.loss[above - 1]);
}

std::vector<double> grid_of(std::vector<Curve>& curves) {
  double low = curves.front().c.front(), high = low;
  for (const Curve& curve : curves) {
    low = std::min(low, curve.c.front());
    high = std::max(high, curve.c.back());
  }
  std::vector<double> grid;
  for (size_t i = 0; i < kBudgets; ++i) grid.push_back(low + (high - low) * i / (kBudgets - 1));
  for (Curve& curve : curves)
    for (const double c : grid) curve.on_grid.push_back(interpolated(curve, c));
  return grid;
}

class CurveEnvelope : public Envelope {
 public:
  explicit CurveEnvelope(std::vector<Curve> curves)
      : curves_(std::move(curves)), grid_(grid_of(curves_)) {}
  size_t runs() const override { return curves_.size(); }
  int64_t budgets() const override { return std::ssize(grid_); }

  std::vector<EnvelopePoint> of(std::span<const size_t> chosen) const override {
    std::vector<EnvelopePoint> envelope;
    for (size_t budget = 0; budget < grid_.size(); ++budget) {
      const Curve* best = inside(chosen, budget);
      if (!best) continue;
      const double c = std::exp(grid_[budget]);
      envelope.push_back(
          {c, best->n, c / best->flops_per_token, std::exp(best->on_grid[budget]), best->run});
    }
    return envelope;
  }

  std::string problem(const std::vector<EnvelopePoint>& envelope) const override {
    return fmt::format(
        "fewer than {} models win a budget between a smaller and a larger one whose curves reach "
        "it ({} at {} of {} budgets); train more sizes, or the small ones for longer",
        kFewestWinners, sizes_of(envelope), envelope.size(), grid_.size());
  }

 private:
  // The lowest curve, unless it is of the smallest or the largest model that has one there.
  const Curve* inside(std::span<const size_t> chosen, size_t budget) const {
    const Curve* best = nullptr;
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    for (const size_t i : chosen) {
      const Curve& one = curves_[i];
      if (std::isnan(one.on_grid[budget])) continue;
      smallest = std::min(smallest, one.n);
      largest = std::max(largest, one.n);
      if (!best || one.on_grid[budget] < best->on_grid[budget]) best = &one;
    }
    return best && best->n > smallest && best->n < largest ? best : nullptr;
  }

  std::vector<Curve> curves_;
  std::vector<double> grid_;
};

bool enough(const std::vector<EnvelopePoint>& envelope) {
  return sizes_of(envelope) >= kFewestWinners;
}

// Winners of last points, each anywhere between its half-ways, all on one line.
void move_winners(std::vector<EnvelopePoint>& envelope, uint64_t key, int64_t resample) {
  const PhiloxBlock bits = philox(key, resample, 0);
  const double first = uniform_double(bits[0], bits[1]), last = uniform_double(bits[2], bits[3]);
  const double low = std::log(envelope.front().c), range = std::log(envelope.back().c) - low;
  for (EnvelopePoint& point : envelope) {
    if (std::isnan(point.to_smaller.n)) continue;
    const double share = first + (last - first) * (std::log(point.c) - low) / range;
    point.n = point.to_smaller.n * std::pow(point.to_larger.n / point.to_smaller.n, share);
    point.d = point.to_smaller.d * std::pow(point.to_larger.d / point.to_smaller.d, share);
  }
}

BestOfC best_of(const std::vector<EnvelopePoint>& envelope) {
  BestOfC best;
  for (const EnvelopePoint& point : envelope)
    best.add(point.c, point.n, point.d, point.loss, point.run);
  return best;
}

void fit_through(EnvelopeFit& fit, const Envelope& envelope, const IsoflopOptions& options) {
  std::vector<size_t> chosen(envelope.runs());
  std::iota(chosen.begin(), chosen.end(), 0);
  fit.envelope = envelope.of(chosen);
  fit.budgets = envelope.budgets();
  fit.resamples = options.resamples;
  if (!enough(fit.envelope)) {
    fit.problem = envelope.problem(fit.envelope);
    return;
  }
  const uint64_t key = derive_key(options.seed, "envelope"),
                 moves = derive_key(options.seed, "sizes of an envelope");
  const auto resample = [&](int64_t i) -> std::optional<BestOfC> {
    for (size_t j = 0; j < chosen.size(); ++j) chosen[j] = drawn(key, i, j, chosen.size());
    auto points = envelope.of(chosen);
    if (!enough(points)) return {};
    move_winners(points, moves, i);
    return best_of(points);
  };
  fit_laws(fit, best_of(fit.envelope), resample, options, kMostForOffset);
}

}  // namespace

bool knows_exponent(const EnvelopeFit& fit) {
  return fit.valid() && (fit.resamples == 0 || std::isfinite(fit.n_of_c.exponent.low));
}

EnvelopeFit fit_envelope(const ScalingTable& table, const Convention& convention,
                         const IsoflopOptions& options) {
  const auto points = points_of(table, convention);
  std::vector<Curve> curves;
  for (const ScalingPoint& point : points) {
    const ScalingRun& run = table.runs[point.run];
    if (run.curve.size() >= 2) curves.push_back(smoothed(run.curve, point));
  }
  EnvelopeFit fit;
  fit.from_curves = curves.size() == points.size() && !points.empty();
  if (!curves.empty()) fit.without_curves = points.size() - curves.size();
  if (points.empty())
    fit.problem = "no run is done";
  else if (fit.from_curves)
    fit_through(fit, CurveEnvelope(std::move(curves)), options);
  else
    fit_through(fit, *envelope_of_last_points(points, options.tolerance), options);
  return fit;
}

}  // namespace skein::scaling::fit
