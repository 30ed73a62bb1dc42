#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "unknowns.h"

namespace skein::scaling::fit {
namespace {

constexpr double kSettled = 1e-10, kConverged = 1e-6;  // of what adds up to the gradient

// False where the damped matrix has no step.
bool damped_step(UnknownsSquared matrix, const UnknownsSquared& scale, const Unknowns& gradient,
                 double damping, int n, Unknowns& step) {
  for (int i = 0; i < n; ++i) matrix[i][i] += damping * std::max(scale[i][i], 1e-300);
  if (!solve_positive(matrix, gradient, n, step)) return false;
  for (double& one : step) one = -one;
  return dot(step, gradient) < 0;
}

class Polisher {
 public:
  Polisher(const PowerSum& sum, const Criterion& criterion, const Unknowns& start)
      : sum_(sum), criterion_(criterion), at_(start), here_(second_order(sum, criterion, start)) {}

  Minimum run(int most_iterations) {
    const Unknowns start = at_;
    int i = 0;
    while (i++ < most_iterations && norm(here_.gradient) > kSettled * here_.pull + here_.rounding &&
           damping_ < 1e12)
      step();
    Minimum found{at_, here_.value, norm(here_.gradient), at_ != start, false, ""};
    const double allowed = kConverged * here_.pull + here_.rounding;
    found.converged = found.gradient_norm <= allowed && std::isfinite(found.value);
    if (!found.converged)
      found.problem = fmt::format("{}the gradient's norm is {:.3g}, above {:.3g}",
                                  found.moved ? "" : "the optimiser did not leave its start: ",
                                  found.gradient_norm, allowed);
    return found;
  }

 private:
  void step() {
    Unknowns best{};
    double value = std::numeric_limits<double>::infinity();
    for (const UnknownsSquared* matrix : {&here_.hessian, &here_.majorant}) {
      Unknowns tried{};
      if (!damped_step(*matrix, here_.majorant, here_.gradient, damping_, sum_.unknowns(), tried))
        continue;
      const double there = objective(sum_, criterion_, along(at_, 1, tried));
      if (!(there < value)) continue;
      best = tried;
      value = there;
    }
    const double slope = dot(here_.gradient, best);
    if (slope < 0 && (take(1, best) || take(search(best, slope), best))) {
      damping_ = damping_ < 1e-12 ? 0 : damping_ / 10;
    } else {
      damping_ = std::max(10 * damping_, 1e-8);
    }
  }

  // Where the slope along the direction has fallen to a tenth: at a kink of the criterion that is a
  // point of few units in the last place.
  double search(const Unknowns& direction, double slope) {
    double low = 0, high = 0, at_low = slope, at_high = 0, step = 1;
    for (int i = 0; i < 40; ++i) {
      Unknowns gradient{};
      objective(sum_, criterion_, along(at_, step, direction), &gradient);
      const double there = dot(gradient, direction);
      if (std::abs(there) <= -0.1 * slope) return step;
      const bool down = there < 0;
      (down ? low : high) = step;
      (down ? at_low : at_high) = there;
      if (high == 0) {
        step *= 4;
      } else {
        const double secant = low - at_low * (high - low) / (at_high - at_low);
        step = i % 3 == 2 || !std::isfinite(secant) ? (low + high) / 2 : secant;
      }
    }
    return low;
  }

  // False, and nothing taken, where the step does not help enough.
  bool take(double size, const Unknowns& direction) {
    const Unknowns at = along(at_, size, direction);
    const SecondOrder there = second_order(sum_, criterion_, at);
    // Close to the minimum its value no longer tells steps apart.
    const bool lower = there.value < here_.value,
               level = there.value <= here_.value * (1 + 1e-13) &&
                       norm(there.gradient) < 0.5 * norm(here_.gradient);
    const bool far_from_flat = size == 1 && std::abs(dot(there.gradient, direction)) >
                                                -0.5 * dot(here_.gradient, direction);
    if (!level && (!lower || far_from_flat)) return false;
    at_ = at;
    here_ = there;
    return true;
  }

  const PowerSum& sum_;
  const Criterion criterion_;
  Unknowns at_;
  SecondOrder here_;
  double damping_ = 1e-4;
};

}  // namespace

Minimum polish(const PowerSum& sum, const Criterion& criterion, const Unknowns& start,
               int most_iterations) {
  return Polisher(sum, criterion, start).run(most_iterations);
}

}  // namespace skein::scaling::fit
