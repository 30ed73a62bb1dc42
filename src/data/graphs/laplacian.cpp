// Eigenvectors of I + D^-1/2 A D^-1/2 = 2 - L, largest first, in the complement of the trivial
// ones.
//
// Invariants: every vector of a Krylov basis is orthogonal to the trivial vectors, to those that
// were found before, and to those of the basis; where the basis cannot grow by a product it grows
// by a fixed vector, and is a basis of all that is left at the latest. A basis of one start sees a
// multiple eigenvalue once, so after the first more are searched beside what was found, until none
// is larger than the last that is wanted. Small graphs have a whole basis, in which all are seen.
// Where a basis does not settle soon, since eigenvalues are close to each other, another is made of
// products with a polynomial of the matrix (Zhou and Saad, 2007) that is within [-1,1] at all
// smaller eigenvalues, and rises steeply behind them: the last that is wanted is at least what it
// is in any basis, so that none of the wanted is among those.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/data/graphs/positions.h"

namespace skein::data {
namespace {

using Vector = std::vector<double>;

constexpr int64_t kWholeBasis = 300;  // nodes
constexpr int64_t kMostEigenNumbers = int64_t{1} << 29;
// Products until a basis is given up: with the matrix, and at first with a polynomial of it.
constexpr int64_t kPlainProducts = 512, kFilteredProducts = 96;
constexpr int64_t kMostVisits = int64_t{1} << 40;  // of nodes and links in products
constexpr double kResidual = 1e-10, kTiny = 1e-9, kEqual = 1e-8;

// In eight sums, which the processor can make at once.
double dot(const Vector& a, const Vector& b) {
  constexpr size_t kSums = 8;
  std::array<double, kSums> sums{};
  const size_t whole = a.size() / kSums * kSums;
  for (size_t i = 0; i < whole; i += kSums)
    for (size_t lane = 0; lane < kSums; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (size_t i = whole; i < a.size(); ++i) sums[i - whole] += a[i] * b[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}
void add(Vector& to, double scale, const Vector& from) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += scale * from[i];
}
double normalise(Vector& x) {
  const double length = std::sqrt(dot(x, x));
  if (length > 0)
    for (double& number : x) number /= length;
  return length;
}

// A symmetric tridiagonal matrix, and what is rotated with its columns.
struct Tridiagonal {
  Vector diagonal, beside;      // [m], [m - 1]
  std::vector<Vector> columns;  // [m] of any length

  // One QR step with Wilkinson's shift on rows [low,high] (Golub and Van Loan, Matrix Computations,
  // section 8.3): a rotation makes a bulge, the others chase it out.
  void step(int64_t low, int64_t high) {
    const double half = (diagonal[high - 1] - diagonal[high]) / 2, last = beside[high - 1];
    const double root = std::hypot(half, last);
    const double shift = diagonal[high] - last * (last / (half + std::copysign(root, half)));
    double x = diagonal[low] - shift, bulge = beside[low];
    for (int64_t k = low; k < high; ++k) {
      const double r = std::hypot(x, bulge), c = r > 0 ? x / r : 1, s = r > 0 ? bulge / r : 0;
      if (k > low) beside[k - 1] = r;
      const double a = diagonal[k], b = diagonal[k + 1], o = beside[k];
      diagonal[k] = c * c * a + 2 * c * s * o + s * s * b;
      diagonal[k + 1] = s * s * a - 2 * c * s * o + c * c * b;
      beside[k] = c * s * (b - a) + (c * c - s * s) * o;
      if (k + 1 < high) {
        x = beside[k];
        bulge = s * beside[k + 1];
        beside[k + 1] *= c;
      }
      for (size_t i = 0; i < columns[k].size(); ++i) {
        const double left = columns[k][i], right = columns[k + 1][i];
        columns[k][i] = c * left + s * right;
        columns[k + 1][i] = c * right - s * left;
      }
    }
  }

  bool splits(int64_t k) const {
    return std::abs(beside[k]) <= 1e-16 * (std::abs(diagonal[k]) + std::abs(diagonal[k + 1]));
  }

  // Eigenvalues become the diagonal.
  void diagonalise() {
    int64_t high = std::ssize(diagonal) - 1, steps = 0;
    while (high > 0) {
      if (splits(high - 1)) {
        beside[--high] = 0;
        continue;
      }
      int64_t low = high - 1;
      while (low > 0 && !splits(low - 1)) --low;
      SKEIN_CHECK(++steps <= 100 * std::ssize(diagonal));
      step(low, high);
    }
  }

  // Their numbers, largest value first.
  std::vector<int64_t> order() const {
    std::vector<int64_t> made(diagonal.size());
    std::iota(made.begin(), made.end(), 0);
    std::ranges::stable_sort(made, std::greater<>(), [&](int64_t i) { return diagonal[i]; });
    return made;
  }
};

// The Chebyshev polynomial of [0,end], which is increasing from there on; degree 0: x itself.
struct Filter {
  double end = 0;
  int64_t degree = 0;

  // Another one, which begins to rise twice as far from 2 as the value is that this one maps to
  // `value`, so that it is well above 1 there. It has cosh(kRise) at 2, above all eigenvalues.
  Filter from(double value) const {
    constexpr double kRise = 8, kLeastEnd = 1e-3, kMostDegree = 1 << 16;
    double next = value;
    if (degree > 0) next = end / 2 * (1 + std::cosh(std::acosh(std::max(value, 1.0)) / degree));
    next = std::clamp(2 - 2 * (2 - next), kLeastEnd, 2 - 1e-12);
    const double degrees = kRise / std::acosh(4 / next - 1);
    return {next, static_cast<int64_t>(std::clamp(degrees, 1.0, kMostDegree))};
  }
};

struct Found {
  double value;
  Vector vector;
};

class Search {
 public:
  explicit Search(const Graph& graph) : graph_(graph), scale_(graph.nodes) {
    for (int64_t node = 0; node < graph.nodes; ++node) {
      const uint32_t degree = graph.link_starts[node + 1] - graph.link_starts[node];
      scale_[node] = degree == 0 ? 0 : 1 / std::sqrt(degree);
    }
    find_components();
  }

  std::vector<Found> largest(int64_t count) {
    count = std::min(count, left());
    for (bool first = true; left() > 0; first = false) {
      const bool whole = graph_.nodes <= kWholeBasis;
      std::vector<Found> more = grow(first ? count : 1, whole);
      const bool all = whole || more.front().value <= least(count) + kEqual;
      std::ranges::move(more, std::back_inserter(found_));
      std::ranges::stable_sort(found_, std::greater<>(), &Found::value);
      if (all) break;
    }
    found_.resize(count);
    return std::move(found_);
  }

 private:
  // The dims that no found and no trivial vector has.
  int64_t left() const { return graph_.nodes - components_ - std::ssize(found_); }
  // Of the `count` largest that were found; below all where they are fewer.
  double least(int64_t count) const {
    return std::ssize(found_) < count || count == 0 ? -1 : found_[count - 1].value;
  }

  void find_components() {
    component_.assign(graph_.nodes, -1);
    std::vector<int64_t> open;
    for (int64_t node = 0; node < graph_.nodes; ++node) {
      if (component_[node] >= 0) continue;
      open = {node};
      component_[node] = components_;
      while (!open.empty()) {
        const int64_t at = open.back();
        open.pop_back();
        for (uint32_t e = graph_.link_starts[at]; e < graph_.link_starts[at + 1]; ++e)
          if (const uint32_t other = graph_.link_to[e]; component_[other] < 0) {
            component_[other] = components_;
            open.push_back(other);
          }
      }
      ++components_;
    }
    trivial_.resize(graph_.nodes);
    Vector squares(components_);
    for (int64_t node = 0; node < graph_.nodes; ++node) {
      trivial_[node] = scale_[node] == 0 ? 1 : 1 / scale_[node];
      squares[component_[node]] += trivial_[node] * trivial_[node];
    }
    for (int64_t node = 0; node < graph_.nodes; ++node)
      trivial_[node] /= std::sqrt(squares[component_[node]]);
  }

  Vector product(const Vector& x) const {
    Vector made = x;
    for (int64_t row = 0; row < graph_.nodes; ++row) {
      double sum = 0;
      for (uint32_t e = graph_.link_starts[row]; e < graph_.link_starts[row + 1]; ++e)
        sum += scale_[graph_.link_to[e]] * x[graph_.link_to[e]];
      made[row] += scale_[row] * sum;
    }
    return made;
  }

  // Twice, or what is left is not orthogonal to the last bit.
  void make_orthogonal(Vector& x, const std::vector<Vector>& basis) const {
    for (int times = 0; times < 2; ++times) {
      Vector shares(components_);
      for (size_t i = 0; i < x.size(); ++i) shares[component_[i]] += trivial_[i] * x[i];
      for (size_t i = 0; i < x.size(); ++i) x[i] -= shares[component_[i]] * trivial_[i];
      for (const Found& one : found_) add(x, -dot(x, one.vector), one.vector);
      for (const Vector& one : basis) add(x, -dot(x, one), one);
    }
  }

  // A vector beside all others, of length 1.
  Vector fresh(const std::vector<Vector>& basis) {
    while (true) {
      Vector made(graph_.nodes);
      for (int64_t i = 0; i < graph_.nodes; ++i) {
        const PhiloxBlock bits = philox(0, drawn_, i);
        made[i] = uniform_double(bits[0], bits[1]) - 0.5;
      }
      ++drawn_;
      normalise(made);
      make_orthogonal(made, basis);
      if (normalise(made) > kTiny) {
        make_orthogonal(made, basis);
        normalise(made);
        return made;
      }
    }
  }

  // Filter's polynomial of the matrix, times x.
  Vector product(const Vector& x, const Filter& filter) const {
    if (filter.degree == 0) return product(x);
    Vector before, last = x;
    for (int64_t degree = 1; degree <= filter.degree; ++degree) {
      Vector next = product(last);
      const double scale = degree == 1 ? 1 : 2;
      for (size_t i = 0; i < next.size(); ++i)
        next[i] = scale * (2 / filter.end * next[i] - last[i]) - (degree == 1 ? 0 : before[i]);
      before = std::move(last);
      last = std::move(next);
    }
    return last;
  }

  struct Krylov {
    std::vector<Vector> basis{};
    Tridiagonal matrix{};
    bool settled = false;
  };

  // The largest `wanted` of what is left, or all of them; of a basis that sees them.
  std::vector<Found> grow(int64_t wanted, bool whole) {
    Filter filter;
    int64_t most = left();
    if (!whole) {
      most = std::min(std::max(plain_products_, 4 * wanted), kMostEigenNumbers / graph_.nodes);
      most = std::max(most, wanted);
    }
    while (true) {
      Krylov made = krylov(wanted, most, whole, filter);
      if (made.settled) return ritz(made, std::min(wanted, std::ssize(made.basis)), filter);
      most = filter.degree == 0 ? std::max(kFilteredProducts, 4 * wanted) : 2 * most;
      plain_products_ = kFilteredProducts;  // others are no farther from each other
      made.matrix.beside.pop_back();
      made.matrix.columns.resize(made.matrix.diagonal.size());
      made.matrix.diagonalise();
      filter = filter.from(made.matrix.diagonal[made.matrix.order()[wanted - 1]]);
    }
  }

  // Of `most` products, or as many as settle the wanted.
  Krylov krylov(int64_t wanted, int64_t most, bool whole, const Filter& filter) {
    Krylov made{{fresh({})}};
    auto& [basis, matrix, settles] = made;
    for (int64_t size = 1; size <= most; ++size) {
      visits_ += std::max<int64_t>(1, filter.degree) * (graph_.nodes + std::ssize(graph_.link_to));
      require(size <= kMostEigenNumbers / graph_.nodes && visits_ <= kMostVisits,
              "{}: its eigenvectors do not settle within {} products; ask for fewer with "
              "graphs.laplacian",
              graph_.name, size - 1);
      Vector next = product(basis.back(), filter);
      matrix.diagonal.push_back(dot(next, basis.back()));
      settles = size == left();
      if (settles) break;
      make_orthogonal(next, basis);
      double length = normalise(next);
      settles = length > kTiny && !whole && size >= wanted && size % 16 == 0 &&
                settled(matrix, wanted, length);
      if (settles) break;
      if (length <= kTiny) {
        next = fresh(basis);
        length = 0;
      }
      matrix.beside.push_back(length);
      basis.push_back(std::move(next));
    }
    return made;
  }

  // Whether no wanted vector would change much in a larger basis.
  static bool settled(const Tridiagonal& of, int64_t wanted, double length) {
    Tridiagonal matrix = of;
    matrix.columns.assign(matrix.diagonal.size(), Vector{0});
    matrix.columns.back()[0] = 1;
    matrix.diagonalise();
    const std::vector<int64_t> order = matrix.order();
    return std::all_of(order.begin(), order.begin() + wanted, [&](int64_t i) {
      return std::abs(length * matrix.columns[i][0]) <= kResidual;
    });
  }

  std::vector<Found> ritz(Krylov& from, int64_t wanted, const Filter& filter) const {
    Tridiagonal& matrix = from.matrix;
    const std::vector<Vector>& basis = from.basis;
    const size_t size = basis.size();
    matrix.columns.assign(size, Vector(size));
    for (size_t i = 0; i < size; ++i) matrix.columns[i][i] = 1;
    matrix.diagonalise();
    const std::vector<int64_t> order = matrix.order();
    std::vector<Found> made;
    for (int64_t n = 0; n < wanted; ++n) {
      Found& one = made.emplace_back(matrix.diagonal[order[n]], Vector(graph_.nodes));
      for (size_t i = 0; i < size; ++i) add(one.vector, matrix.columns[order[n]][i], basis[i]);
      make_orthogonal(one.vector, {});
      normalise(one.vector);
      if (filter.degree > 0) one.value = dot(product(one.vector), one.vector);
    }
    return made;
  }

  const Graph& graph_;
  Vector scale_;    // D^-1/2
  Vector trivial_;  // of all components, side by side
  std::vector<int64_t> component_;
  int64_t components_ = 0;
  std::vector<Found> found_;
  uint64_t drawn_ = 0;
  int64_t plain_products_ = kPlainProducts, visits_ = 0;
};

// 1 or -1: what makes the first number that is not small positive.
double sign_of(const Vector& x) {
  double largest = 0;
  for (const double number : x) largest = std::max(largest, std::abs(number));
  const auto first =
      std::ranges::find_if(x, [&](double number) { return std::abs(number) > largest / 1000; });
  return first != x.end() && *first < 0 ? -1 : 1;
}

}  // namespace

std::vector<float> laplacian_vectors(const Graph& graph, int64_t count,
                                     std::vector<double>* values) {
  std::vector<float> made(graph.nodes * count);
  const std::vector<Found> found =
      graph.nodes == 0 ? std::vector<Found>() : Search(graph).largest(count);
  for (size_t n = 0; n < found.size(); ++n) {
    if (values != nullptr) values->push_back(2 - found[n].value);
    const double sign = sign_of(found[n].vector);
    for (int64_t node = 0; node < graph.nodes; ++node)
      made[node * count + n] = static_cast<float>(sign * found[n].vector[node]);
  }
  return made;
}

}  // namespace skein::data
