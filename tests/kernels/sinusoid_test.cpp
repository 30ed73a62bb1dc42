// Fixed positions: the formula in both layouts, and the turn that adds to a position.
#include <algorithm>
#include <cmath>

#include "skein/kernels/embedding.h"

#include "support/kernel_check.h"

namespace skein {
namespace {

constexpr int64_t kWidth = 36;

Tensor rows_of(const std::vector<int32_t>& positions, kernels::Sinusoid layout) {
  const auto count = static_cast<int64_t>(positions.size());
  const Tensor made = Tensor::empty({count, kWidth}, DType::f64);
  kernels::sinusoid(Cpu{}, Tensor::from(positions, {count}), layout, Out(made));
  return made;
}

// Where sine and cosine of angle i lie.
std::pair<int64_t, int64_t> columns_of(int64_t i, kernels::Sinusoid layout) {
  return layout == kernels::Sinusoid::pairs ? std::pair{2 * i, 2 * i + 1}
                                            : std::pair{i, i + kWidth / 2};
}

double frequency(int64_t i) {
  return std::pow(10000, -2 * static_cast<double>(i) / static_cast<double>(kWidth));
}

TEST(Sinusoids, AreTheFormulaInBothLayouts) {
  const std::vector<int32_t> positions{0, 1, 7, 511};
  for (auto layout : {kernels::Sinusoid::halves, kernels::Sinusoid::pairs}) {
    const Tensor found = rows_of(positions, layout);
    for (size_t n = 0; n < positions.size(); ++n)
      for (int64_t i = 0; i < kWidth / 2; ++i) {
        const auto [sine, cosine] = columns_of(i, layout);
        const double* row = found.data<double>() + static_cast<int64_t>(n) * kWidth;
        EXPECT_NEAR(row[sine], std::sin(positions[n] * frequency(i)), 1e-13);
        EXPECT_NEAR(row[cosine], std::cos(positions[n] * frequency(i)), 1e-13);
      }
  }
}

// Whether a position's row is made for it alone or for all that have it.
TEST(Sinusoids, OfAPositionHaveTheSameBitsBesideAnyOthers) {
  for (auto layout : {kernels::Sinusoid::halves, kernels::Sinusoid::pairs}) {
    std::vector<int32_t> many;
    for (int32_t n = 0; n < 500; ++n) many.push_back(100 + n * 7 % 60);
    const Tensor together = rows_of(many, layout);
    for (int64_t n = 0; n < std::ssize(many); n += 17) {
      const Tensor alone = rows_of({many[n]}, layout);
      EXPECT_TRUE(std::ranges::equal(alone.span<double>(), together.rows(n, n + 1).span<double>()));
    }
  }
}

// PE(p + k) = R(k) PE(p), and R does not depend on p.
TEST(Sinusoids, APositionFartherOnIsARotation) {
  for (auto layout : {kernels::Sinusoid::halves, kernels::Sinusoid::pairs})
    for (int32_t k : {1, 5, 128})
      for (int32_t p : {0, 3, 200, 900}) {
        const Tensor both = rows_of({p, p + k}, layout);
        const double *from = both.data<double>(), *to = from + kWidth;
        for (int64_t i = 0; i < kWidth / 2; ++i) {
          const auto [sine, cosine] = columns_of(i, layout);
          const double turn = k * frequency(i), s = std::sin(turn), c = std::cos(turn);
          EXPECT_NEAR(to[sine], c * from[sine] + s * from[cosine], 1e-12);
          EXPECT_NEAR(to[cosine], c * from[cosine] - s * from[sine], 1e-12);
        }
      }
}

}  // namespace
}  // namespace skein
