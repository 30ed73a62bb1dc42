// Pooling over sets: against its definitions, in any order, and its gradients.
#include "skein/nn/set_pool.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nn/small_blocks.h"
#include "support/drawn_attention.h"
#include "support/expect_error.h"

namespace skein {
namespace {

using kernels::Links;
using test::random_tensor;

constexpr int64_t kPooledSamples = 2, kRows = 5, kWide = 4;
constexpr SetPooling kKinds[] = {SetPooling::mean, SetPooling::sum, SetPooling::max,
                                 SetPooling::attention};

struct PoolLayer {
  Parameters parameters{DType::f64, 0, 1};
  SetPool pool;

  explicit PoolLayer(SetPooling kind, int64_t heads = 2)
      : pool(parameters,
             {.name = "pool", .kind = kind, .width = kWide, .heads = heads, .deviation = 0.8}) {
    test::initialize_all(parameters, true);
  }
};

// Two sets a sample, one of them of the second sample empty.
Links some_sets() {
  return kernels::make_links(std::vector<int64_t>{0, 3, 5, 9, 9},
                             std::vector<int64_t>{0, 2, 3, 1, 4, 5, 7, 8, 9},
                             kPooledSamples * kRows);
}

// Of one set's column i, by the definition.
double pooled(SetPooling kind, const std::vector<double>& members,
              const std::vector<double>& scores) {
  if (members.empty()) return 0;
  const double sum = std::accumulate(members.begin(), members.end(), 0.0);
  double weighed = 0, all = 0;
  switch (kind) {
    case SetPooling::mean: return sum / static_cast<double>(members.size());
    case SetPooling::sum: return sum;
    case SetPooling::max: return *std::max_element(members.begin(), members.end());
    case SetPooling::attention: break;
  }
  for (size_t m = 0; m < members.size(); ++m) {
    weighed += std::exp(scores[m]) * members[m];
    all += std::exp(scores[m]);
  }
  return weighed / all;
}

TEST(SetPool, IsItsDefinition) {
  const Links sets = some_sets();
  const Tensor x = random_tensor({kPooledSamples, kRows, kWide}, 3);
  for (const SetPooling kind : kKinds) {
    const PoolLayer layer(kind);
    const Tensor y = layer.pool(Var(x), sets).value();
    ASSERT_EQ(y.shape(), (Shape{4, 1, kWide}));
    for (int64_t set = 0; set < 4; ++set)
      for (int64_t i = 0; i < kWide; ++i) {
        std::vector<double> members, scores;
        for (int64_t e = sets.starts.data<int32_t>()[set]; e < sets.starts.data<int32_t>()[set + 1];
             ++e) {
          const double* row = x.data<double>() + sets.columns.data<int32_t>()[e] * kWide;
          members.push_back(row[i]);
          if (kind != SetPooling::attention) continue;
          const double* query = layer.parameters.all().front().value.data<double>() + i / 2 * 2;
          const double* part = row + i / 2 * 2;
          scores.push_back((query[0] * part[0] + query[1] * part[1]) / std::sqrt(2.0));
        }
        EXPECT_NEAR(y.data<double>()[set * kWide + i], pooled(kind, members, scores), 1e-14);
      }
  }
}

TEST(SetPool, DoesNotDependOnTheOrderOfMembers) {
  const std::vector<int64_t> moved{3, 0, 4, 1, 2};
  const Tensor x = random_tensor({1, kRows, kWide}, 3), other = x.like();
  for (int64_t i = 0; i < kRows; ++i)
    other.flat(moved[static_cast<size_t>(i)] * kWide, kWide).copy_from(x.flat(i * kWide, kWide));
  const Links all = sets_of_samples(data::filled(1, kRows, 0));
  for (const SetPooling kind : kKinds) {
    const PoolLayer layer(kind);
    const auto run = [&](const Tensor& from) { return layer.pool(Var(from), all).value(); };
    test::expect_near(run(other), run(x), 1e-14, "y");
    // A member that differs is seen.
    other.data<double>()[0] += 9;
    EXPECT_GT(std::abs(run(other).data<double>()[0] - run(x).data<double>()[0]), 1e-3);
    other.data<double>()[0] -= 9;
  }
}

TEST(SetPool, HasItsGradients) {
  const Links sets = some_sets();
  for (const SetPooling kind : kKinds) {
    PoolLayer layer(kind);
    test::check_gradients([&](const test::Checked& at) { return layer.pool(at.inputs[0], sets); },
                          {{kPooledSamples, kRows, kWide}});
    const Tensor x = random_tensor({kPooledSamples, kRows, kWide}, 5),
                 dy = random_tensor({4, 1, kWide}, 7);
    for (Parameter& p : layer.parameters.all()) p.gradient.fill_zero();
    backward(layer.pool(Var::leaf(x), sets), dy.clone());
    for (Parameter& p : layer.parameters.all())
      test::compare_with_differences(
          p.value, p.gradient,
          [&] {
            const auto y = test::values_of(layer.pool(Var(x), sets).value()),
                       slopes = test::values_of(dy);
            return std::inner_product(y.begin(), y.end(), slopes.begin(), 0.0);
          },
          1e-7, p.name);
  }
}

// Samples that come together change no bit, and gradients are sums over them in their order.
TEST(SetPool, SamplesMayComeInParts) {
  const Tensor segments = data::filled(kPooledSamples, kRows, 0),
               x = random_tensor({kPooledSamples, kRows, kWide}, 5, DType::f64),
               dy = random_tensor({kPooledSamples, 1, kWide}, 7);
  segments.data<int32_t>()[4] = -1;
  for (const SetPooling kind : kKinds) {
    PoolLayer whole(kind), parts(kind);
    const Var y = whole.pool(Var::leaf(x), sets_of_samples(segments));
    for (int64_t b = 0; b < kPooledSamples; ++b) {
      const Var one =
          parts.pool(Var::leaf(x.rows(b, b + 1)), sets_of_samples(segments.rows(b, b + 1)));
      EXPECT_EQ(test::bytes_of(one.value()), test::bytes_of(y.value().rows(b, b + 1)));
      backward(one, dy.rows(b, b + 1).clone());
    }
    backward(y, dy.clone());
    for (size_t i = 0; i < whole.parameters.all().size(); ++i)
      EXPECT_EQ(test::bytes_of(whole.parameters.all()[i].gradient),
                test::bytes_of(parts.parameters.all()[i].gradient));
  }
}

TEST(SetPool, RefusesHeadsThatDoNotDivideTheWidth) {
  test::expect_error(ExitCode::usage, {"pool: 3 heads do not divide a width of 4"},
                     [] { const PoolLayer layer(SetPooling::attention, 3); });
}

}  // namespace
}  // namespace skein
