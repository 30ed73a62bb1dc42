#include <algorithm>
#include <cmath>
#include <vector>

#include "skein/scaling/fit/minimise.h"

namespace skein::scaling::fit {
namespace {

struct Corner {
  Unknowns at{};
  double value = 0;
};

class Simplex {
 public:
  Simplex(const std::function<double(const Unknowns&)>& function, const Unknowns& start, int n,
          double step)
      : function_(function), n_(n) {
    for (size_t i = 0; i <= n_; ++i) {
      Unknowns at = start;
      if (i > 0) at[i - 1] += step;
      corners_.push_back(valued(at));
    }
  }

  Minimum run(double tolerance) {
    Minimum found;
    while (evaluations_ < 2000) {
      std::ranges::stable_sort(corners_, {}, &Corner::value);
      found.converged =
          corners_.back().value - corners_[0].value <= tolerance * std::abs(corners_[0].value);
      if (found.converged) break;
      step();
    }
    found.at = corners_[0].at;
    found.value = corners_[0].value;
    if (!found.converged) found.problem = "the simplex still shrinks after 2000 evaluations";
    return found;
  }

 private:
  Corner valued(const Unknowns& at) {
    ++evaluations_;
    return {at, function_(at)};
  }

  // The worst corner through the middle of the others, so many times as far.
  Corner reflected(double times) {
    Unknowns at{};
    for (size_t j = 0; j < n_; ++j) {
      double middle = 0;
      for (size_t i = 0; i < n_; ++i) middle += corners_[i].at[j] / n_;
      at[j] = middle + times * (middle - corners_[n_].at[j]);
    }
    return valued(at);
  }

  void step() {
    const Corner once = reflected(1);
    if (once.value < corners_[0].value) {
      const Corner twice = reflected(2);
      corners_[n_] = twice.value < once.value ? twice : once;
    } else if (once.value < corners_[n_ - 1].value) {
      corners_[n_] = once;
    } else {
      const Corner half = reflected(once.value < corners_[n_].value ? 0.5 : -0.5);
      if (half.value < std::min(once.value, corners_[n_].value)) {
        corners_[n_] = half;
      } else {
        shrink();
      }
    }
  }

  void shrink() {
    for (size_t i = 1; i <= n_; ++i) {
      for (size_t j = 0; j < n_; ++j)
        corners_[i].at[j] = (corners_[i].at[j] + corners_[0].at[j]) / 2;
      corners_[i] = valued(corners_[i].at);
    }
  }

  const std::function<double(const Unknowns&)>& function_;
  size_t n_;
  std::vector<Corner> corners_;
  int64_t evaluations_ = 0;
};

}  // namespace

Minimum minimise_by_simplex(const std::function<double(const Unknowns&)>& function,
                            const Unknowns& start, int n, double step, double tolerance) {
  return Simplex(function, start, n, step).run(tolerance);
}

}  // namespace skein::scaling::fit
