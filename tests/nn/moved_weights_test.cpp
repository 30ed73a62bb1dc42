// Blocks whose parameters lie elsewhere in backward than in forward.
#include <gtest/gtest.h>

#include "skein/comm/local.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

using test::bytes_of;
using test::random_tensor;

void move_all(Parameters& parameters) {
  for (Parameter& p : parameters.all()) {
    const WeightMemory old = p;
    p.value = old.value.clone();
    p.gradient = Tensor::zeros(p.local, old.gradient.dtype());
    old.value.fill_zero();
    old.gradient.fill_zero();
  }
}

// The gradients of the input and of all parameters, end to end.
std::vector<std::byte> gradients(test::Family family, Recompute recompute, bool moves) {
  const auto alone = single_rank();
  Parameters parameters(DType::f32, 0, 1);
  const Stack stack(parameters, 0, 0, test::small_blocks(family));
  test::initialize_all(parameters, true);
  parameters.keep_packed();
  const Tensor positions = test::counted_positions(2, 6, {0, 0});
  data::Batch batch;
  batch.positions = positions;
  Pass pass;
  pass.tp = alone.get();
  pass.train = true;
  pass.batch = &batch;
  pass.recompute = recompute;
  const Var x = Var::leaf(random_tensor({2, 6, test::kWidth}, 3, DType::f32)), y = stack(x, pass);
  if (moves) move_all(parameters);
  backward(y, random_tensor(y.shape(), 4, DType::f32));
  auto all = bytes_of(x.gradient());
  for (const Parameter& p : parameters.all()) {
    const auto own = bytes_of(p.gradient);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

TEST(MovedWeights, OfBlocksGiveTheSameGradients) {
  for (const auto family : {test::Family::gpt2, test::Family::post_norm, test::Family::llama})
    for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full})
      EXPECT_EQ(gradients(family, recompute, true), gradients(family, recompute, false));
}

}  // namespace
}  // namespace skein
