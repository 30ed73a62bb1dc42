#include <algorithm>
#include <cmath>

#include "intervals.h"
#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/scaling/isoflop.h"

namespace skein {
namespace {

constexpr size_t kBudgets = 1500;
constexpr double kWindow = 0.05;
constexpr size_t kMostForOffset = 64;
constexpr int64_t kFewestWinners = 3;  // models among the winners

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
    for (; end < points.size() && points[end].tokens <= point.tokens * (1 + kWindow); ++end) sum += std::log(points[end].loss);
    for (; points[begin].tokens < point.tokens * (1 - kWindow); ++begin) sum -= std::log(points[begin].loss);
    const double c = std::log(point.tokens * curve.flops_per_token);
    if (!curve.c.empty() && !(c > curve.c.back())) continue;
    curve.c.push_back(c);
    curve.loss.push_back(sum / static_cast<double>(end - begin));
  }
  return curve;
}

double interpolated(const Curve& curve, double c) {
  if (curve.c.empty() || c < curve.c.front() || c > curve.c.back()) return kUnknown;
  const auto above = static_cast<size_t>(std::lower_bound(curve.c.begin(), curve.c.end(), c) - curve.c.begin());
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
  for (size_t i = 0; i < kBudgets; ++i) grid.push_back(low + (high - low) * static_cast<double>(i) / (kBudgets - 1));
  for (Curve& curve : curves)
    for (const double c : grid) curve.on_grid.push_back(interpolated(curve, c));
  return grid;
}

// What approach 1 goes by: for chosen runs (by index, again where they were drawn again) the envelope inside of the sizes.
class Envelope {
 public:
  virtual ~Envelope() = default;
  virtual std::vector<EnvelopePoint> of(std::span<const size_t> chosen) const = 0;
  virtual size_t runs() const = 0;
};

class CurveEnvelope : public Envelope {
 public:
  explicit CurveEnvelope(std::vector<Curve> curves) : curves_(std::move(curves)), grid_(grid_of(curves_)) {}
  size_t runs() const override { return curves_.size(); }

  std::vector<EnvelopePoint> of(std::span<const size_t> chosen) const override {
    const auto by_size = [&](size_t one, size_t other) { return curves_[one].n < curves_[other].n; };
    const auto [smallest, largest] = std::minmax_element(chosen.begin(), chosen.end(), by_size);
    std::vector<EnvelopePoint> envelope;
    for (size_t budget = 0; budget < grid_.size(); ++budget) {
      const Curve* best = lowest(chosen, budget);
      if (!best || best->n == curves_[*smallest].n || best->n == curves_[*largest].n) continue;
      const double c = std::exp(grid_[budget]);
      envelope.push_back({c, best->n, c / best->flops_per_token, std::exp(best->on_grid[budget]), best->run});
    }
    return envelope;
  }

 private:
  const Curve* lowest(std::span<const size_t> chosen, size_t budget) const {
    const Curve* best = nullptr;
    for (const size_t i : chosen) {
      const double loss = curves_[i].on_grid[budget];
      if (!std::isnan(loss) && (!best || loss < best->on_grid[budget])) best = &curves_[i];
    }
    return best;
  }

  std::vector<Curve> curves_;
  std::vector<double> grid_;
};

class LastPointEnvelope : public Envelope {
 public:
  explicit LastPointEnvelope(std::vector<ScalingPoint> points) : points_(std::move(points)) {}
  size_t runs() const override { return points_.size(); }

  std::vector<EnvelopePoint> of(std::span<const size_t> chosen) const override {
    std::vector<size_t> sorted(chosen.begin(), chosen.end());
    std::sort(sorted.begin(), sorted.end());
    const auto by_size = [&](size_t one, size_t other) { return points_[one].n < points_[other].n; };
    const auto [smallest, largest] = std::minmax_element(sorted.begin(), sorted.end(), by_size);
    std::vector<EnvelopePoint> envelope;
    double lowest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < sorted.size();) {
      const ScalingPoint* best = &points_[sorted[i]];
      for (const double c = best->c; i < sorted.size() && points_[sorted[i]].c == c; ++i)
        if (points_[sorted[i]].loss < best->loss) best = &points_[sorted[i]];
      if (!(best->loss < lowest)) continue;
      lowest = best->loss;
      if (best->n != points_[*smallest].n && best->n != points_[*largest].n) envelope.push_back({best->c, best->n, best->d, best->loss, best->run});
    }
    return envelope;
  }

 private:
  std::vector<ScalingPoint> points_;  // by C
};

struct Laws {
  PowerLaw n, d, loss;
};

bool enough(const std::vector<EnvelopePoint>& envelope) {
  std::vector<double> sizes;
  for (const EnvelopePoint& point : envelope)
    if (std::find(sizes.begin(), sizes.end(), point.n) == sizes.end()) sizes.push_back(point.n);
  return static_cast<int64_t>(sizes.size()) >= kFewestWinners;
}

Laws laws_of(const std::vector<EnvelopePoint>& envelope) {
  std::vector<XY> n, d, loss;
  for (const EnvelopePoint& point : envelope) {
    n.push_back({point.c, point.n, 1, point.run});
    d.push_back({point.c, point.d, 1, point.run});
    loss.push_back({point.c, point.loss, 1, point.run});
  }
  return {power_through(n), power_through(d), power_through(loss)};
}

std::vector<XY> losses_of(const std::vector<EnvelopePoint>& envelope) {
  std::vector<XY> losses;
  const size_t count = std::min(kMostForOffset, envelope.size());
  for (size_t i = 0; i < count; ++i) {
    const EnvelopePoint& point = envelope[i * envelope.size() / count];
    losses.push_back({point.c, point.loss, 1, point.run});
  }
  return losses;
}

void fit_through(EnvelopeFit& fit, const Envelope& envelope, const IsoflopOptions& options) {
  std::vector<size_t> chosen(envelope.runs());
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i;
  fit.envelope = envelope.of(chosen);
  fit.resamples = options.resamples;
  if (!enough(fit.envelope)) {
    fit.problem = fmt::format("fewer than {} models win a budget, the smallest and the largest aside", kFewestWinners);
    return;
  }
  const uint64_t key = derive_key(options.seed, "envelope");
  std::vector<PowerLaw> n, d, loss;
  std::vector<std::vector<XY>> losses;
  for (int64_t i = 0; i < options.resamples; ++i) {
    for (size_t j = 0; j < chosen.size(); ++j) chosen[j] = drawn(key, i, j, chosen.size());
    const auto points = envelope.of(chosen);
    if (!enough(points)) {
      ++fit.failed_draws;
      continue;
    }
    const Laws laws = laws_of(points);
    n.push_back(laws.n);
    d.push_back(laws.d);
    loss.push_back(laws.loss);
    losses.push_back(losses_of(points));
  }
  const Laws laws = laws_of(fit.envelope);
  fit.n_of_c = power_fit(laws.n, std::move(n), options.resamples);
  fit.d_of_c = power_fit(laws.d, std::move(d), options.resamples);
  fit.loss_of_c = power_fit(laws.loss, std::move(loss), options.resamples);
  fit.offset_loss_of_c = offset_through(losses_of(fit.envelope), losses, options.threads);
}

}  // namespace

EnvelopeFit fit_envelope(const ScalingTable& table, const Convention& convention, const IsoflopOptions& options) {
  const auto points = points_of(table, convention);
  std::vector<Curve> curves;
  for (const ScalingPoint& point : points) {
    const ScalingRun& run = table.runs[static_cast<size_t>(point.run)];
    if (run.curve.size() >= 2) curves.push_back(smoothed(run.curve, point));
  }
  EnvelopeFit fit;
  fit.from_curves = curves.size() == points.size() && !points.empty();
  if (!curves.empty()) fit.without_curves = static_cast<int64_t>(points.size() - curves.size());
  if (points.empty()) fit.problem = "no run is done";
  else if (fit.from_curves) fit_through(fit, CurveEnvelope(std::move(curves)), options);
  else fit_through(fit, LastPointEnvelope(points), options);
  return fit;
}

}  // namespace skein
