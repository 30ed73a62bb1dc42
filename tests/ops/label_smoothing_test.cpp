// Smoothed targets against their definition, the cross entropy of a distribution with the logits'.
#include <cmath>

#include "skein/comm/local.h"
#include "skein/ops/collective.h"
#include "skein/ops/loss.h"

#include "support/gradient_check.h"
#include "support/op_cases.h"

namespace skein {
namespace {

constexpr int64_t kSmoothedRows = 5, kSmoothedWidth = 4, kSmoothedIds = 7;
constexpr double kShare = 0.15;

struct Rows {
  Tensor x = test::random_tensor({kSmoothedRows, kSmoothedWidth}, 1),
         weight = test::random_tensor({kSmoothedIds, kSmoothedWidth}, 2),
         row_weights = test::random_tensor({kSmoothedRows}, 3),
         targets = Tensor::from(std::vector<int32_t>{0, 6, 2, 3, 1}, {kSmoothedRows});
};

struct SmoothedLosses {
  Tensor losses, plain, dx, dweight;
};

SmoothedLosses run(const Rows& in, std::optional<double> share,
                   const ops::VocabShard& shard = {0, kSmoothedIds}, Group* group = nullptr) {
  SmoothedLosses found;
  found.dweight = Tensor::zeros(in.weight.shape(), DType::f64);
  const WeightMemory weight{in.weight, found.dweight};
  ops::RowExtras extras;
  if (share) {
    found.plain = Tensor::empty({kSmoothedRows}, DType::f64);
    extras.smoothed = ops::SmoothedLoss{{*share, kSmoothedIds}, Out(found.plain)};
  }
  const Var x = Var::leaf(in.x), entered = group ? ops::copy_to_shards(x, *group) : x;
  const Var losses = ops::linear_cross_entropy(entered, {weight, {}, shard, group}, in.targets,
                                               in.row_weights, kSmoothedRows, extras);
  found.losses = losses.value();
  backward(losses, in.row_weights);
  found.dx = x.gradient();
  return found;
}

// The logarithms of row r's softmax.
std::vector<double> log_softmax(const Rows& in, int64_t r) {
  std::vector<double> logs(kSmoothedIds);
  double sum = 0;
  for (int64_t id = 0; id < kSmoothedIds; ++id) {
    for (int64_t c = 0; c < kSmoothedWidth; ++c)
      logs[static_cast<size_t>(id)] += in.x.data<double>()[r * kSmoothedWidth + c] *
                                       in.weight.data<double>()[id * kSmoothedWidth + c];
    sum += std::exp(logs[static_cast<size_t>(id)]);
  }
  for (double& log : logs) log -= std::log(sum);
  return logs;
}

TEST(LabelSmoothing, IsTheCrossEntropyOfTheSmoothedTarget) {
  const Rows in;
  const SmoothedLosses found = run(in, kShare), plain = run(in, {});
  for (int64_t r = 0; r < kSmoothedRows; ++r) {
    const std::vector<double> logs = log_softmax(in, r);
    double wanted = 0;
    for (int32_t id = 0; id < kSmoothedIds; ++id)
      wanted -= (kShare / kSmoothedIds + (id == in.targets.data<int32_t>()[r] ? 1 - kShare : 0)) *
                logs[static_cast<size_t>(id)];
    EXPECT_NEAR(found.losses.data<double>()[r], wanted, 1e-14);
  }
  EXPECT_EQ(test::bytes_of(found.plain), test::bytes_of(plain.losses));
}

TEST(LabelSmoothing, GradientsAreThoseOfTheSmoothedLoss) {
  const Rows in;
  const SmoothedLosses found = run(in, kShare);
  const auto total = [&] {
    const Tensor losses = run(in, kShare).losses;
    double sum = 0;
    for (int64_t r = 0; r < kSmoothedRows; ++r)
      sum += in.row_weights.data<double>()[r] * losses.data<double>()[r];
    return sum;
  };
  test::compare_with_differences(in.x, found.dx, total, 1e-7, "x");
  test::compare_with_differences(in.weight, found.dweight, total, 1e-7, "weight");
}

TEST(LabelSmoothing, OfNothingIsThePlainLoss) {
  const Rows in;
  const SmoothedLosses none = run(in, 0.0), plain = run(in, {});
  EXPECT_EQ(test::bytes_of(none.losses), test::bytes_of(plain.losses));
  EXPECT_EQ(test::bytes_of(none.dx), test::bytes_of(plain.dx));
  EXPECT_EQ(test::bytes_of(none.dweight), test::bytes_of(plain.dweight));
}

// The last id is alone on its rank, beside five rows of padding that do not count.
TEST(LabelSmoothing, ShardsAndPaddingGiveTheSame) {
  const Rows in;
  const SmoothedLosses whole = run(in, kShare);
  run_ranks(2, [&](Group& group) {
    const int64_t first = group.rank() * 6, valid = group.rank() == 0 ? 6 : 1;
    Rows own;
    own.weight = test::random_tensor({6, kSmoothedWidth}, 77, DType::f64, 1000);
    own.weight.rows(0, valid).copy_from(in.weight.rows(first, first + valid));
    const SmoothedLosses found = run(own, kShare, {first, valid}, &group);
    for (int64_t r = 0; r < kSmoothedRows; ++r) {
      EXPECT_NEAR(found.losses.data<double>()[r], whole.losses.data<double>()[r], 1e-13);
      EXPECT_NEAR(found.plain.data<double>()[r], whole.plain.data<double>()[r], 1e-13);
    }
    for (int64_t i = 0; i < in.x.size(); ++i)
      EXPECT_NEAR(found.dx.data<double>()[i], whole.dx.data<double>()[i], 1e-13);
    for (int64_t i = 0; i < own.weight.size(); ++i)
      EXPECT_NEAR(found.dweight.data<double>()[i],
                  i < valid * kSmoothedWidth
                      ? whole.dweight.data<double>()[first * kSmoothedWidth + i]
                      : 0.0,
                  1e-13);
  });
}

TEST(LabelSmoothing, RefusesWhatCannotBe) {
  const auto refusal = [](const kernels::Smoothing& smoothing, bool entropic) {
    const Rows in;
    const Tensor entropies = Tensor::empty({kSmoothedRows}, DType::f64);
    ops::RowExtras extras;
    extras.smoothed = ops::SmoothedLoss{smoothing};
    if (entropic) extras.entropy_weights = in.row_weights;
    const WeightMemory weight = test::weight_of(in.weight);
    return test::internal_error_of([&] {
      ops::linear_cross_entropy(Var(in.x), {weight, {}, {0, kSmoothedIds}}, in.targets,
                                in.row_weights, kSmoothedRows, extras, Out(entropies));
    });
  };
  EXPECT_EQ(refusal({1, 7}, false),
            "linear_cross_entropy: the share of smoothing must be in [0, 1), not 1");
  EXPECT_EQ(refusal({0.1, 6}, false),
            "linear_cross_entropy: smoothing is over 6 ids, but shard.valid is 7");
  EXPECT_EQ(
      refusal({0.1, 7}, true),
      "linear_cross_entropy: smoothed targets are for rows without policy and entropy_weights");
}

// Whose logits are at hand, as those of a few classes are.
Tensor logits_of(const Rows& in) {
  const Tensor made = Tensor::zeros({kSmoothedRows, kSmoothedIds}, DType::f64);
  for (int64_t r = 0; r < kSmoothedRows; ++r)
    for (int64_t id = 0; id < kSmoothedIds; ++id)
      for (int64_t c = 0; c < kSmoothedWidth; ++c)
        made.data<double>()[r * kSmoothedIds + id] +=
            in.x.data<double>()[r * kSmoothedWidth + c] *
            in.weight.data<double>()[id * kSmoothedWidth + c];
  return made;
}

TEST(LabelSmoothing, OfClassesIsTheCrossEntropyOfTheSmoothedTarget) {
  const Rows in;
  const Var logits = Var::leaf(logits_of(in));
  const Tensor plain = Tensor::empty({kSmoothedRows}, DType::f64);
  const Var losses =
      ops::cross_entropy(logits, in.targets, ops::SmoothedLoss{{kShare, kSmoothedIds}, Out(plain)});
  backward(losses, in.row_weights);
  for (int64_t r = 0; r < kSmoothedRows; ++r) {
    const std::vector<double> logs = log_softmax(in, r);
    const int32_t target = in.targets.data<int32_t>()[r];
    double wanted = 0;
    for (int32_t id = 0; id < kSmoothedIds; ++id) {
      const double share = kShare / kSmoothedIds + (id == target ? 1 - kShare : 0),
                   log = logs[static_cast<size_t>(id)];
      wanted -= share * log;
      EXPECT_NEAR(logits.gradient().data<double>()[r * kSmoothedIds + id],
                  in.row_weights.data<double>()[r] * (std::exp(log) - share), 1e-14);
    }
    EXPECT_NEAR(losses.value().data<double>()[r], wanted, 1e-14);
    EXPECT_NEAR(plain.data<double>()[r], -logs[static_cast<size_t>(target)], 1e-14);
  }
}

TEST(LabelSmoothing, OfClassesRefusesWhatCannotBe) {
  const Rows in;
  const auto refusal = [&](const kernels::Smoothing& smoothing) {
    return test::internal_error_of(
        [&] { ops::cross_entropy(Var(logits_of(in)), in.targets, ops::SmoothedLoss{smoothing}); });
  };
  EXPECT_EQ(refusal({-0.1, 7}),
            "cross_entropy: the share of smoothing must be in [0, 1), not -0.1");
  EXPECT_EQ(refusal({0.1, 6}), "cross_entropy: smoothing is over 6 ids, but logits has 7 columns");
}

}  // namespace
}  // namespace skein
