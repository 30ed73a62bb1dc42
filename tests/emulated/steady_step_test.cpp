// What a training step on a GPU asks of the driver, once it runs.
#include <gtest/gtest.h>

#include "skein/train/replica.h"

#include "support/emulated_device.h"
#include "train/train_fixture.h"

namespace skein {
namespace {

constexpr int64_t kFirst = 3, kSteps = 2;

// By kSteps steps after the first kFirst.
emulation::DriverCalls calls_of_steps(const PretrainConfig& c) {
  emulation::DriverCalls made;
  run_ranks(1, [&](Group& world) {
    const MeshShape shape = mesh_shape(c.parallel, world.size());
    Mesh mesh(world, shape);
    Replica replica(c, plan_batch(c.parallel, shape, c.train.global_batch, c.train.micro_batch),
                    mesh);
    const Batch batch = some_batch(c.train.global_batch, c.model);
    int64_t step = 0;
    for (; step < kFirst; ++step) replica.step(batch, step, 1e-4);
    const emulation::DriverCalls before = emulation::driver_calls();
    for (; step < kFirst + kSteps; ++step) replica.step(batch, step, 1e-4);
    const emulation::DriverCalls after = emulation::driver_calls();
    made = {after.device_memory - before.device_memory, after.host_memory - before.host_memory,
            after.waits - before.waits, after.copies_to_host - before.copies_to_host,
            after.graphs - before.graphs};
  });
  EXPECT_GT(emulation::driver_calls().device_memory, 0);
  EXPECT_GT(emulation::driver_calls().host_memory, 0);
  return made;
}

// Eight micro-batches a step, in four groups of the sum.
PretrainConfig config_on_gpu() {
  PretrainConfig c = small_config("");
  c.model.vocab_size = 64;
  c.model.n_layers = 2;
  c.train.global_batch = 8;
  c.parallel.device = DeviceKind::cuda;
  return c;
}

// For the gradient norm, then for the losses of all micro-batches: each is a copy to the host,
// which waits.
void expect_steady(const PretrainConfig& config, const std::string& what) {
  const emulation::DriverCalls made = calls_of_steps(config);
  EXPECT_EQ(made.device_memory, 0) << what;
  EXPECT_EQ(made.host_memory, 0) << what;
  EXPECT_EQ(made.copies_to_host, 2 * kSteps) << what;
  EXPECT_EQ(made.waits, 2 * kSteps) << what;
  EXPECT_EQ(made.graphs, 0) << what;
}

TEST(SteadyGpuStep, TakesNothingAndWaitsTwiceAtItsEnd) {
  for (DType precision : {DType::f32, DType::bf16, DType::f16}) {
    PretrainConfig c = config_on_gpu();
    c.train.precision = precision;
    c.parallel.recompute = precision == DType::bf16 ? Recompute::full : Recompute::none;
    expect_steady(c, std::string(name_of(precision)));
  }
}

TEST(SteadyGpuStep, OfALlamaWithRandomRoundingDoesTheSame) {
  PretrainConfig c = config_on_gpu();
  c.model.activation = MlpKind::swiglu;
  c.model.norm = ops::Norm::rms;
  c.model.positions = Positions::rotary;
  c.model.n_kv_heads = 2;
  c.optimizer.stochastic_rounding = true;
  expect_steady(c, "llama");
}

TEST(SteadyGpuStep, OfARecordedGraphDoesTheSame) {
  PretrainConfig c = config_on_gpu();
  c.model.dropout = 0;
  c.parallel.cuda_graph = true;
  expect_steady(c, "graph");
}

}  // namespace
}  // namespace skein
