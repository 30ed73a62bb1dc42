// The ridge λ‖θ‖²: its gradient joins the others before norm and clipping, and its bits do not
// depend on the layout.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "skein/train/optim/sharded_optimizer.h"

#include "train/layout_check.h"

namespace skein::train {
namespace {

double square_sum(const Parameters& parameters) {
  double sum = 0;
  for (const Parameter& parameter : parameters.all())
    for (float value : parameter.value.span<float>()) sum += static_cast<double>(value) * value;
  return sum;
}

TEST(Ridge, IsTheGradientAndTheLossOfAllThatLearns) {
  run_ranks(1, [](Group& world) {
    Mesh mesh(world, {1, 1, 1});
    Parameters parameters(DType::f32, 0, 1);
    parameters.enter("a", 0);
    parameters.add({"matrix", {30, 40}, Split::none, {Start::normal, 0.5}});
    parameters.add({"vector", {77}, Split::none, {Start::ones}});
    parameters.enter("frozen", 0);
    parameters.add({"still", {9}, Split::none, {Start::ones}});
    parameters.freeze([](const Parameter& p) { return p.name == "still"; });
    Buckets buckets(parameters, mesh, {1});
    parameters.initialize(3);
    const double squares = square_sum(parameters) - 9;
    const OptimizerConfig config{.weight_decay = 0, .ridge = 0.25};
    ShardedOptimizer optimizer(make_optimizer(config), config, buckets, false);
    const float before = parameters.all()[0].value.data<float>()[5];
    // The data's gradients come scaled, the ridge's are not.
    parameters.all()[0].gradient.data<float>()[5] = 64;
    const double norm = optimizer.step(1e-3, 1.0 / 128);
    EXPECT_NEAR(optimizer.ridge_loss(), 0.25 * squares, 1e-6 * squares);
    EXPECT_NEAR(norm * norm, 0.25 * squares + 0.5 * 0.5 + 2 * 0.5 * 0.5 * before, 1e-4 * squares);
    const auto pieces = optimizer.pieces(true);
    const auto moment =
        std::find_if(pieces.begin(), pieces.end(),
                     [](const checkpoint::Piece& piece) { return piece.name == "adam_m/matrix"; });
    ASSERT_NE(moment, pieces.end());
    EXPECT_NEAR(reinterpret_cast<const float*>(moment->data)[5], 0.1 * (0.5 + 0.5 * before) / norm,
                1e-5)
        << "clipped to a norm of 1, with the ridge in it";
    EXPECT_EQ(parameters.all()[2].value.data<float>()[0], 1.0f);
  });
}

TEST(Ridge, MustBeANumberFromZero) {
  for (double ridge : {-1.0, std::nan("")})
    run_ranks(1, [&](Group& world) {
      Mesh mesh(world, {1, 1, 1});
      Parameters parameters(DType::f32, 0, 1);
      parameters.enter("a", 0);
      parameters.add({"matrix", {3, 4}});
      Buckets buckets(parameters, mesh, {1});
      try {
        ShardedOptimizer(make_optimizer({}), {.ridge = ridge}, buckets, false);
        ADD_FAILURE() << ridge;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("optimizer.ridge"), std::string::npos);
      }
    });
}

TEST(Ridge, HasTheSameBitsAtEveryLayout) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  for (const DType precision : {DType::f32, DType::bf16}) {
    PretrainConfig c = small_config(folder.file("train.h5"));
    c.train.steps = 5;
    c.train.precision = precision;
    const Finished without = train(c, 1, folder, fmt::format("without{}", name_of(precision)));
    c.optimizer.ridge = 0.01;
    const Finished expected = train(c, 1, folder, fmt::format("with{}", name_of(precision)));
    EXPECT_GT(expected.losses[0], without.losses[0] + 0.01);
    EXPECT_NE(expected.grad_norms, without.grad_norms);
    expect_equal_runs(c, {{2, 1, 1}, {4, 1, 1, true}, {1, 2, 1}, {2, 2, 1, true}}, folder,
                      expected);
  }
}

// Every shard of a tensor counts, what all of them hold counts once.
TEST(Ridge, TensorParallelRanksAgree) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  PretrainConfig c = small_config(folder.file("train.h5"));
  c.train.steps = 4;
  c.model.dropout = 0;
  c.optimizer.ridge = 0.01;
  const Finished expected = train(c, 1, folder, "expected");
  c.parallel.tensor = 2;
  const Finished found = train(c, 2, folder, "found");
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-4);
}

}  // namespace
}  // namespace skein::train
