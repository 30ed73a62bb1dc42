// A second optimizer is one class: here momentum, which keeps one number for each element.
#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "skein/comm/local.h"
#include "skein/train/optim/sharded_optimizer.h"

#include "support/gradient_check.h"

namespace skein::train {
namespace {

using test::bytes_of;
using test::random_tensor;

// v = 0.9 v + g; values -= lr (v + weight_decay values)
class Momentum : public Optimizer {
 public:
  std::vector<std::string> state_names() const override { return {"momentum"}; }
  void update(const std::vector<Shard>& shards, const Update& update) const override {
    const double norm = update.gradient_scale * std::sqrt(*update.square_sum.data<double>());
    if (!std::isfinite(norm)) return;
    const double factor = update.clip > 0 && norm > update.clip ? update.clip / norm : 1;
    for (const Shard& shard : shards) move(shard, factor * update.gradient_scale);
  }

 private:
  static void move(const Shard& shard, double scale) {
    for (int64_t i = 0; i < shard.values.size(); ++i) {
      float &value = shard.values.data<float>()[i], &speed = shard.state[0].data<float>()[i];
      speed = static_cast<float>(0.9 * speed + scale * shard.gradient.data<float>()[i]);
      value -= static_cast<float>(shard.lr * (speed + shard.weight_decay * value));
    }
    if (shard.rounded.defined()) shard.rounded.copy_from(shard.values.to(shard.rounded.dtype()));
  }
};

struct MomentumSetting {
  MomentumSetting(Group& world, bool zero, DType dtype)
      : mesh(world, {1, world.size(), 1}),
        parameters(dtype, 0, 1),
        buckets(added(parameters), mesh, {1}),
        optimizer(std::make_unique<Momentum>(), OptimizerConfig{}, begun(buckets, parameters),
                  zero),
        everywhere(!zero) {}
  static Parameters& added(Parameters& parameters) {
    parameters.enter("a", 0);
    parameters.add({"matrix", {30, 40}, Split::none, {Start::normal, 0.5}});
    parameters.add({"vector", {77}, Split::none, {Start::ones}});
    return parameters;
  }
  static Buckets& begun(Buckets& buckets, Parameters& parameters) {
    parameters.initialize(3);
    return buckets;
  }
  // With the gradients of step `number`; every rank has the same.
  double step(uint64_t number) {
    buckets.begin_step(1);
    for (const Parameter& p : parameters.all())
      if (mesh.dp().rank() == 0) p.gradient.copy_from(random_tensor(p.local, number, DType::f32));
    buckets.finish(everywhere);
    return optimizer.step(0.01);
  }
  std::vector<std::byte> values() const {
    auto all = bytes_of(parameters.all()[0].value);
    const auto second = bytes_of(parameters.all()[1].value);
    all.insert(all.end(), second.begin(), second.end());
    return all;
  }

  Mesh mesh;
  Parameters parameters;
  Buckets buckets;
  ShardedOptimizer optimizer;
  bool everywhere;
};

TEST(SecondOptimizer, HasEqualBitsAtEveryLayout) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    std::vector<std::byte> expected;
    for (const auto& [ranks, zero] : {std::pair{1, false}, {2, false}, {2, true}, {4, true}})
      run_ranks(ranks, [&, zero = zero](Group& world) {
        MomentumSetting setting(world, zero, dtype);
        const auto before = setting.values();
        for (uint64_t step = 0; step < 3; ++step) setting.step(step);
        if (world.rank() > 0) return;
        EXPECT_NE(setting.values(), before);
        if (expected.empty()) expected = setting.values();
        EXPECT_EQ(setting.values(), expected) << ranks << zero;
      });
  }
}

TEST(SecondOptimizer, IsSavedByItsOwnNamesAndGoesOn) {
  run_ranks(2, [&](Group& world) {
    for (bool zero : {false, true}) {
      MomentumSetting whole(world, zero, DType::bf16), first(world, zero, DType::bf16),
          second(world, zero, DType::bf16);
      for (uint64_t step = 0; step < 4; ++step) whole.step(step);
      for (uint64_t step = 0; step < 2; ++step) first.step(step);
      const auto from = first.optimizer.pieces(false), to = second.optimizer.pieces(false);
      ASSERT_EQ(from.size(), to.size());
      std::set<std::string> kinds;
      for (size_t i = 0; i < from.size(); ++i) {
        kinds.insert(from[i].name.substr(0, from[i].name.find('/')));
        EXPECT_EQ(from[i].name, to[i].name);
        std::copy_n(from[i].data, from[i].bytes(), to[i].data);
      }
      EXPECT_EQ(kinds, (std::set<std::string>{"momentum", "param"}));
      second.optimizer.loaded(first.optimizer.steps());
      EXPECT_EQ(second.values(), first.values());
      for (uint64_t step = 2; step < 4; ++step) second.step(step);
      EXPECT_EQ(second.values(), whole.values());
    }
  });
}

// Many ranks that each read all of a checkpoint would read it as often.
TEST(SecondOptimizer, ARankLoadsItsOwnSlices) {
  run_ranks(2, [&](Group& world) {
    const auto elements = [&](bool zero) {
      int64_t count = 0;
      for (const auto& piece : MomentumSetting(world, zero, DType::bf16).optimizer.pieces(false))
        count += piece.end - piece.begin;
      return count;
    };
    EXPECT_EQ(elements(false), elements(true));
  });
}

TEST(SecondOptimizer, SaysWhatItTakes) {
  EXPECT_EQ(Momentum().bytes_per_parameter(DType::bf16), 8);
  EXPECT_EQ(Momentum().bytes_per_parameter(DType::f32), 4);
  const auto adamw = make_optimizer({});
  EXPECT_EQ(adamw->bytes_per_parameter(DType::bf16), 12) << "moments and a copy in f32";
  EXPECT_EQ(adamw->bytes_per_parameter(DType::f32), 8);
  run_ranks(1, [](Group& world) {
    const MomentumSetting setting(world, false, DType::bf16);
    EXPECT_EQ(setting.optimizer.bytes(), setting.buckets.all()[0].size * 8);
  });
}

}  // namespace
}  // namespace skein::train
