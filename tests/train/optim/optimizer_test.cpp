#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <mutex>

#include "skein/comm/local.h"
#include "skein/train/optim/loss_scale.h"
#include "skein/train/optim/sharded_optimizer.h"

#include "support/damage.h"
#include "support/expect_error.h"
#include "support/gradient_check.h"

namespace skein::train {
namespace {

// One optimizer over two parameters on each rank of a data-parallel group.
struct Setting {
  Setting(Group& world, bool zero, DType dtype, const OptimizerConfig& config = {})
      : mesh(world, {1, world.size(), 1}),
        parameters(dtype, 0, 1),
        buckets(added(parameters), mesh, {1}),
        optimizer(make_optimizer(config), config, begun(buckets, parameters), zero),
        everywhere(!zero) {}
  static Parameters& added(Parameters& parameters) {
    parameters.enter("a", 0);
    parameters.add({"matrix", {30, 40}, Split::none, {Start::normal, 0.5}});
    parameters.enter("b", 0);
    parameters.add({"vector", {77}, Split::none, {Start::ones}});
    return parameters;
  }
  static Buckets& begun(Buckets& buckets, Parameters& parameters) {
    parameters.initialize(3);
    return buckets;
  }
  double step(double lr) {
    buckets.finish(everywhere);
    return optimizer.step(lr);
  }
  std::vector<std::byte> bytes() const {
    auto all = test::bytes_of(parameters.all()[0].value);
    const auto second = test::bytes_of(parameters.all()[1].value);
    all.insert(all.end(), second.begin(), second.end());
    return all;
  }

  Mesh mesh;
  Parameters parameters;
  Buckets buckets;
  ShardedOptimizer optimizer;
  bool everywhere;
};

TEST(LossScale, HalvesOnOverflowAndDoublesAfterItsWindow) {
  LossScale scale({0, 3}, DType::f16);
  EXPECT_EQ(scale.value(), 65536);
  EXPECT_TRUE(scale.after_step(true));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(scale.after_step(false));
  EXPECT_EQ(scale.value(), 65536);
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(scale.after_step(true));
  EXPECT_EQ(scale.value(), 1);
  EXPECT_FALSE(scale.after_step(true)) << "it cannot shrink any more: the run may give up";
  LossScale fixed({128, 3}, DType::f16), none({0, 3}, DType::bf16);
  EXPECT_FALSE(fixed.after_step(true));
  EXPECT_EQ(fixed.value(), 128);
  EXPECT_EQ(none.value(), 1);
  EXPECT_THROW(LossScale({128, 3}, DType::bf16), Error);
}

// The parts of a tensor that a rank has, by where they begin.
std::map<int64_t, std::vector<float>> parts_of(const std::vector<checkpoint::Piece>& pieces,
                                               const std::string& name) {
  std::map<int64_t, std::vector<float>> parts;
  for (const checkpoint::Piece& piece : pieces) {
    const auto* data = reinterpret_cast<const float*>(piece.data);
    if (piece.name == name) parts[piece.begin] = {data, data + (piece.end - piece.begin)};
  }
  return parts;
}

TEST(Optimizer, KeepsARunningMeanOfItsValues) {
  OptimizerConfig config;
  config.mean_decay = 0.75;
  for (bool zero : {false, true})
    for (DType dtype : {DType::f32, DType::bf16})
      run_ranks(2, [&](Group& world) {
        Setting setting(world, zero, dtype, config);
        const auto held = [&](const char* name) {
          return parts_of(setting.optimizer.pieces(true), name);
        };
        auto expected = held("param/vector");
        EXPECT_EQ(held("ema_param/vector"), expected) << "it begins with the values";
        for (int step = 0; step < 3; ++step) {
          setting.buckets.begin_step(1);
          setting.parameters.all()[1].gradient.fill_zero();
          setting.parameters.all()[1].gradient.data<float>()[step] = 1;
          setting.step(0.1);
          const auto now = held("param/vector");
          for (auto& [begin, numbers] : expected)
            for (size_t i = 0; i < numbers.size(); ++i)
              numbers[i] = 0.75f * numbers[i] + 0.25f * now.at(begin)[i];
        }
        EXPECT_EQ(held("ema_param/vector"), expected);
        EXPECT_EQ(parts_of(setting.optimizer.mean_pieces(), "param/vector"), expected);
        EXPECT_TRUE(expected.empty() || held("param/vector") != expected);
        setting.parameters.all()[1].gradient.data<float>()[0] =
            std::numeric_limits<float>::infinity();
        setting.step(0.1);
        EXPECT_EQ(held("ema_param/vector"), expected) << "no step was made";
        setting.optimizer.begin_mean();
        EXPECT_EQ(held("ema_param/vector"), held("param/vector"));
      });
}

// Any element of any tensor, on any rank.
TEST(Optimizer, ChangesNothingAnywhereWhenOneGradientIsNotFinite) {
  constexpr double kBad[] = {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()};
  for (bool zero : {false, true})
    for (int draw = 0; draw < test::damages(6); ++draw)
      run_ranks(4, [&](Group& world) {
        const PhiloxBlock bits = philox(5, 0, static_cast<uint64_t>(draw));
        Setting setting(world, zero, DType::f32);
        const auto before = setting.bytes();
        const Tensor& gradient = setting.parameters.all()[bits[0] % 2].gradient;
        if (world.rank() == static_cast<int>(bits[1] % 4))
          gradient.data<float>()[bits[2] % static_cast<uint64_t>(gradient.size())] =
              static_cast<float>(kBad[draw % 3]);
        EXPECT_FALSE(std::isfinite(setting.step(0.1)));
        EXPECT_EQ(setting.bytes(), before);
        EXPECT_EQ(setting.optimizer.steps(), 0);
        setting.buckets.begin_step(1);
        setting.parameters.all()[1].gradient.data<float>()[3] = 1;
        EXPECT_EQ(setting.step(0.1), 4.0) << "the sum over four ranks";
        EXPECT_NE(setting.bytes(), before);
      });
}

TEST(Optimizer, DecaysMatricesOnlyAndClipsByTheGlobalNorm) {
  run_ranks(1, [](Group& world) {
    Setting setting(world, false, DType::f32);
    const float before = setting.parameters.all()[0].value.data<float>()[0];
    const double lr = 0.01;
    EXPECT_EQ(setting.step(lr), 0.0);
    EXPECT_FLOAT_EQ(setting.parameters.all()[0].value.data<float>()[0],
                    static_cast<float>(before * (1 - lr * 0.1)));
    EXPECT_EQ(setting.parameters.all()[1].value.data<float>()[0], 1.0f);
    // Adam's first move is lr whatever the size of the gradient; its moments show the clipping.
    setting.parameters.all()[1].gradient.data<float>()[0] = 30;
    setting.parameters.all()[1].gradient.data<float>()[1] = 40;
    EXPECT_DOUBLE_EQ(setting.step(lr), 50.0);
    const auto pieces = setting.optimizer.pieces(true);
    const auto moment =
        std::find_if(pieces.begin(), pieces.end(),
                     [](const checkpoint::Piece& piece) { return piece.name == "adam_m/vector"; });
    ASSERT_NE(moment, pieces.end());
    EXPECT_NEAR(reinterpret_cast<const float*>(moment->data)[1], 0.1 * 40 / 50, 1e-6);
  });
}

// A quarter of the rate is the same as a quarter of the run's, at every step of a schedule; the
// decay stays the run's rate times its own.
TEST(Optimizer, MultipliesTheRateOfEachParameter) {
  run_ranks(1, [](Group& world) {
    OptimizerConfig config;
    config.weight_decay = 0;
    Setting slow(world, false, DType::f32, config), quarter(world, false, DType::f32, config),
        decayed(world, false, DType::f32);
    slow.parameters.all()[0].rate = decayed.parameters.all()[0].rate = 0.25;
    for (const double lr : {0.1, 0.4, 0.05}) {
      for (Setting* setting : {&slow, &quarter}) {
        setting->buckets.begin_step(1);
        for (const Parameter& p : setting->parameters.all())
          p.gradient.copy_from(
              test::random_tensor(p.local, static_cast<uint64_t>(100 * lr), DType::f32));
      }
      slow.step(lr);
      quarter.step(lr / 4);
    }
    EXPECT_EQ(test::bytes_of(slow.parameters.all()[0].value),
              test::bytes_of(quarter.parameters.all()[0].value));
    EXPECT_NE(test::bytes_of(slow.parameters.all()[1].value),
              test::bytes_of(quarter.parameters.all()[1].value));
    const float before = decayed.parameters.all()[0].value.data<float>()[0];
    decayed.step(0.01);
    EXPECT_FLOAT_EQ(decayed.parameters.all()[0].value.data<float>()[0],
                    static_cast<float>(before * (1 - 0.01 * 0.1)));
  });
}

TEST(Optimizer, ShardedStateGivesTheBitsOfWholeState) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    std::vector<std::byte> expected;
    for (bool zero : {false, true})
      run_ranks(4, [&](Group& world) {
        Setting setting(world, zero, dtype);
        for (uint64_t step = 0; step < 3; ++step) {
          setting.buckets.begin_step(1);
          for (const Parameter& p : setting.parameters.all())
            p.gradient.copy_from(test::random_tensor(
                p.local, step * 10 + static_cast<uint64_t>(world.rank()), DType::f32));
          setting.step(0.1);
        }
        if (world.rank() != 3) return;
        if (expected.empty()) expected = setting.bytes();
        EXPECT_EQ(setting.bytes(), expected);
      });
  }
}

TEST(Optimizer, NumbersThatCannotBeAreRefused) {
  const auto refused = [](const OptimizerConfig& config, const char* words) {
    test::expect_error(ExitCode::usage, {words}, [&] { check(config); });
  };
  refused({.adamw = {.beta1 = 2}}, "optimizer.beta1=2 and optimizer.beta2=0.95 must be at least 0");
  refused({.adamw = {.beta2 = 1}}, "optimizer.beta2=1 must be at least 0 and less than 1");
  refused({.adamw = {.epsilon = 0}}, "optimizer.epsilon=0 must be above 0");
  refused({.weight_decay = -3}, "optimizer.weight_decay=-3 must be a number from 0");
  refused({.ridge = std::nan("")}, "optimizer.ridge=nan must be a number from 0");
  refused({.clip = -0.1}, "optimizer.clip=-0.1 must be a number from 0");
  check(OptimizerConfig{.adamw = {.beta1 = 0}, .weight_decay = 0, .clip = 0});
}

TEST(Optimizer, PiecesToSaveHoldEachElementOnce) {
  for (bool zero : {false, true}) {
    std::vector<int64_t> counts(3, 0);
    std::mutex one;
    run_ranks(3, [&](Group& world) {
      Setting setting(world, zero, DType::bf16);
      const std::lock_guard hold(one);
      for (const checkpoint::Piece& piece : setting.optimizer.pieces(true)) {
        EXPECT_EQ(piece.dtype, DType::f32);
        counts[piece.name.starts_with("param/")    ? 0
               : piece.name.starts_with("adam_m/") ? 1
                                                   : 2] += piece.end - piece.begin;
      }
    });
    EXPECT_EQ(counts, (std::vector<int64_t>(3, 30 * 40 + 77)));
  }
}

}  // namespace
}  // namespace skein::train
