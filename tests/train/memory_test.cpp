// What a training step takes from the system.
#include <gtest/gtest.h>
#include <malloc.h>

#include "skein/tensor/buffer.h"
#include "skein/train/replica.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

size_t heap_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.arena + heap.hblkhd;
}

TEST(Memory, ASteadyStepTakesNothingFromTheSystem) {
  for (DType precision : {DType::f32, DType::bf16})
    for (Recompute recompute : {Recompute::none, Recompute::full}) {
      const test::Scratch folder;
      PretrainConfig c = small_config(folder.file("unused.h5"));
      c.model.vocab_size = 64;
      c.train.precision = precision;
      c.train.micro_batch = 2;
      c.parallel.recompute = recompute;
      run_ranks(1, [&](Group& world) {
        const MeshShape shape = mesh_shape(c.parallel, world.size());
        Mesh mesh(world, shape);
        Replica replica(c, plan_batch(c.parallel, shape, c.train.global_batch, c.train.micro_batch),
                        mesh);
        const data::Batch batch = some_batch(c.train.global_batch, c.model);
        int64_t step = 0;
        for (; step < 20; ++step) replica.step(batch, step, 1e-4);
        const int64_t asked = memory_use().asked;
        const size_t heap = heap_bytes();
        for (; step < 70; ++step) replica.step(batch, step, 1e-4);
        EXPECT_EQ(memory_use().asked, asked);
        // Small blocks need some hundreds of steps to settle in memory.
        EXPECT_LE(heap_bytes(), heap + (64 << 10));
      });
    }
}

}  // namespace
}  // namespace skein::train
