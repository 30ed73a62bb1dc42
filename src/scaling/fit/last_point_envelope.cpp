#include "last_point_envelope.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "skein/core/error.h"

#include "budgets.h"

namespace skein::scaling::fit {
namespace {

class LastPointEnvelope : public Envelope {
 public:
  LastPointEnvelope(std::vector<ScalingPoint> points, double tolerance)
      : points_(std::move(points)), budget_(points_.size()) {
    for (const std::vector<int64_t>& members : budgets_of(points_, tolerance)) {
      for (const int64_t i : members) budget_[i] = budgets_;
      ++budgets_;
    }
  }
  size_t runs() const override { return points_.size(); }
  int64_t budgets() const override { return budgets_; }

  std::vector<EnvelopePoint> of(std::span<const size_t> chosen) const override {
    std::vector<size_t> sorted(chosen.begin(), chosen.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<EnvelopePoint> envelope;
    for (size_t first = 0, last = 0; first < sorted.size(); first = last) {
      while (last < sorted.size() && budget_[sorted[last]] == budget_[sorted[first]]) ++last;
      const auto found = inside(std::span(sorted).subspan(first, last - first));
      if (found) envelope.push_back(*found);
    }
    return envelope;
  }

  std::string problem(const std::vector<EnvelopePoint>& envelope) const override {
    return fmt::format(
        "by last losses, {} of {} budgets have their lowest between a smaller model trained on "
        "more tokens and a larger one on fewer, won by {} sizes; a power law needs {}. A run at "
        "the edge of the sizes tried at its compute bounds nothing: at each of {} budgets or more "
        "train several sizes to either side of the best, or give learning curves (data.curves)",
        envelope.size(), budgets_, sizes_of(envelope), kFewestWinners, kFewestWinners);
  }

 private:
  // The lowest loss of a budget. Others bound it if they trade size for tokens, not if they have
  // both more or less.
  std::optional<EnvelopePoint> inside(std::span<const size_t> budget) const {
    const auto loss = [&](size_t i) { return points_[i].loss; };
    const ScalingPoint& best = points_[*std::ranges::min_element(budget, {}, loss)];
    const ScalingPoint *smaller = nullptr, *larger = nullptr;
    for (const size_t i : budget) {
      const ScalingPoint& one = points_[i];
      if (!(one.loss > best.loss)) continue;
      if (one.n < best.n && one.d > best.d && (!smaller || one.n > smaller->n)) smaller = &one;
      if (one.n > best.n && one.d < best.d && (!larger || one.n < larger->n)) larger = &one;
    }
    if (!smaller || !larger) return std::nullopt;
    const auto half_way = [](double one, double other) {
      return std::sqrt(one) * std::sqrt(other);
    };
    return EnvelopePoint{best.c,
                         best.n,
                         best.d,
                         best.loss,
                         best.run,
                         {half_way(smaller->n, best.n), half_way(smaller->d, best.d)},
                         {half_way(larger->n, best.n), half_way(larger->d, best.d)}};
  }

  std::vector<ScalingPoint> points_;
  std::vector<int64_t> budget_;  // of each point
  int64_t budgets_ = 0;
};

}  // namespace

int64_t sizes_of(const std::vector<EnvelopePoint>& envelope) {
  std::set<double> sizes;
  for (const EnvelopePoint& point : envelope) sizes.insert(point.n);
  return std::ssize(sizes);
}

std::unique_ptr<Envelope> envelope_of_last_points(std::vector<ScalingPoint> points,
                                                  double tolerance) {
  return std::make_unique<LastPointEnvelope>(std::move(points), tolerance);
}

}  // namespace skein::scaling::fit
