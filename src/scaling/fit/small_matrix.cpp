#include <algorithm>
#include <cmath>

#include "skein/scaling/fit/minimise.h"

namespace skein::scaling::fit {
namespace {

// Turns entry (p, q) to zero.
void rotate(UnknownsSquared& matrix, size_t n, size_t p, size_t q) {
  const double angle = 0.5 * std::atan2(2 * matrix[p][q], matrix[q][q] - matrix[p][p]);
  const double c = std::cos(angle), s = std::sin(angle);
  for (size_t k = 0; k < n; ++k) {
    const double left = matrix[k][p], right = matrix[k][q];
    matrix[k][p] = c * left - s * right;
    matrix[k][q] = s * left + c * right;
  }
  for (size_t k = 0; k < n; ++k) {
    const double left = matrix[p][k], right = matrix[q][k];
    matrix[p][k] = c * left - s * right;
    matrix[q][k] = s * left + c * right;
  }
}

}  // namespace

bool solve_positive(const UnknownsSquared& matrix, const Unknowns& right, int unknowns,
                    Unknowns& x) {
  const size_t n = unknowns;
  UnknownsSquared factor{};
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double rest = matrix[i][j];
      for (size_t k = 0; k < j; ++k) rest -= factor[i][k] * factor[j][k];
      if (i == j && !(rest > 1e-15 * matrix[i][i])) return false;
      factor[i][j] = i == j ? std::sqrt(rest) : rest / factor[j][j];
    }
  }
  x = right;
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) x[i] -= factor[i][k] * x[k];
    x[i] /= factor[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) x[i] -= factor[k][i] * x[k];
    x[i] /= factor[i][i];
  }
  return std::all_of(x.begin(), x.end(), [](double one) { return std::isfinite(one); });
}

std::vector<double> eigenvalues(UnknownsSquared matrix, int unknowns) {
  const size_t n = unknowns;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0, on = 0;
    for (size_t p = 0; p < n; ++p) {
      on += matrix[p][p] * matrix[p][p];
      for (size_t q = p + 1; q < n; ++q) off += matrix[p][q] * matrix[p][q];
    }
    if (!(off > 1e-36 * on)) break;
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) rotate(matrix, n, p, q);
    }
  }
  std::vector<double> made(n);
  for (size_t i = 0; i < n; ++i) made[i] = matrix[i][i];
  std::sort(made.begin(), made.end());
  return made;
}

}  // namespace skein::scaling::fit
