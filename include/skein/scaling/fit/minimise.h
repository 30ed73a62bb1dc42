// Minima of functions of a few unknowns, and the linear algebra for them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "skein/scaling/fit/power_sum.h"

namespace skein::scaling::fit {

// The value at a point, and its gradient there.
using Slope = std::function<double(const Unknowns& at, Unknowns& gradient)>;

struct Minimum {
  Unknowns at{};
  double value = 0;
  double gradient_norm = 0;
  bool moved = false;  // away from where it started
  bool converged = false;
  std::string problem;  // why not
};

// L-BFGS (Liu and Nocedal, 1989) over the first n unknowns, with the line search for weak Wolfe
// conditions by bisection that also gets through kinks (Lewis and Overton, 2013). It has converged
// where the gradient's norm is at most `tolerance`, and only there: a search that ends for any
// other reason, above all one that could not leave its start, says so.
Minimum minimise(const Slope& function, const Unknowns& start, int n, double tolerance,
                 int most_iterations = 300);

// Newton's method with damping (Levenberg, 1944; Marquardt, 1963) on the exact Hessian of a
// criterion where that has a minimum, else on the parabolas above it. It ends at a gradient that is
// 1e-10 of what adds up to it, or that may be rounding.
Minimum polish(const PowerSum& sum, const Criterion& criterion, const Unknowns& start,
               int most_iterations = 200);

// By simplex over the first n of its arguments (Nelder and Mead, 1965), from a simplex of side
// `step`, until its values agree to `tolerance`, relative. No derivatives; `moved` is not told.
Minimum minimise_by_simplex(const std::function<double(const Unknowns&)>& function,
                            const Unknowns& start, int n, double step, double tolerance);

// x of matrix x = right, by Cholesky over the first n; false where the matrix is not positive
// definite.
bool solve_positive(const UnknownsSquared& matrix, const Unknowns& right, int n, Unknowns& x);
// Of a symmetric matrix, rising (Jacobi's rotations).
std::vector<double> eigenvalues(UnknownsSquared matrix, int n);

}  // namespace skein::scaling::fit
