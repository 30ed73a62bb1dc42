// Commits that are made beside training, a step at a time.
#include <algorithm>
#include <chrono>
#include <thread>

#include "scenario.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

// What may be waited for a little, as training would be: true once the commit is durable.
bool committed(CheckpointStore& store) {
  for (int look = 0; look < 10'000 && store.under_way(); ++look) {
    if (store.advance(false)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void end(CheckpointStore& store) {
  while (store.under_way()) store.advance(true);
}

TEST(SaveBeside, TheSnapshotIsWhatIsCommitted) {
  const test::Scratch directory;
  run_ranks(3, [&](Group& world) {
    CheckpointStore store(directory.path(), 2, world);
    State state = filled_state(rows(), 3, world.rank(), 1);
    ASSERT_TRUE(store.begin(1, state.pieces, "{}"));
    for (auto& memory : state.memory) std::ranges::fill(memory, std::byte{0x77});
    EXPECT_TRUE(store.under_way());
    EXPECT_TRUE(committed(store));
    EXPECT_EQ(list_checkpoints(directory.path()).size(), 1u);
    end(store);
    EXPECT_FALSE(store.advance(false)) << "nothing is under way";
  });
  expect_loads(directory.path(), cases()[0], 1, 1);
}

// Nothing of it is visible before all ranks have written.
TEST(SaveBeside, OlderOnesGoOnceItIsReadBack) {
  const test::Scratch directory;
  run_ranks(2, [&](Group& world) {
    CheckpointStore store(directory.path(), 2, world);
    for (int64_t step = 1; step <= 5; ++step) {
      ASSERT_TRUE(store.begin(step, filled_state(rows(), 2, world.rank(), 7).pieces, "{}"));
      EXPECT_TRUE(committed(store));
      world.barrier();
      EXPECT_EQ(std::ssize(list_checkpoints(directory.path())), std::min<int64_t>(step, 3)) << step;
      world.barrier();
      end(store);
      world.barrier();
      EXPECT_EQ(std::ssize(list_checkpoints(directory.path())), std::min<int64_t>(step, 2)) << step;
      world.barrier();
      EXPECT_FALSE(store.begin(step, {}, "{}")) << "it is committed";
    }
  });
}

TEST(SaveBeside, AFailureComesWithTheNextLook) {
  const test::Scratch directory;
  run_ranks(2, [&](Group& world) {
    CheckpointStore store(directory.path(), 2, world);
    State state = filled_state(rows(), 2, world.rank(), 1);
    ASSERT_TRUE(store.begin(1, state.pieces, "{}"));
    EXPECT_TRUE(committed(store));
    end(store);
    // An element that no rank holds is found when the manifest is made.
    if (world.rank() == 0) state.pieces[0].end -= 1;
    ASSERT_TRUE(store.begin(2, state.pieces, "{}"));
    expect_error(ExitCode::failure, [&] { end(store); }, {"param/block.0.weight", "59 of its 60"});
    EXPECT_FALSE(store.under_way());
    world.barrier();
    EXPECT_EQ(list_checkpoints(directory.path()).size(), 1u);
    for (const std::string& name : names_in(directory.path()))
      EXPECT_FALSE(name.starts_with("tmp-")) << name;
    world.barrier();
    store.save(3, filled_state(rows(), 2, world.rank(), 3).pieces, "{}");
  });
  expect_loads(directory.path(), cases()[0], 3, 3);
}

TEST(SaveBeside, ItsMemoryIsKept) {
  const test::Scratch directory;
  const auto alone = single_rank();
  CheckpointStore store(directory.path(), 2, *alone);
  EXPECT_EQ(store.memory(), 0);
  const State state = filled_state(rows(), 1, 0, 1);
  for (int64_t step = 1; step <= 3; ++step) {
    store.begin(step, state.pieces, "{}");
    EXPECT_GT(store.memory(), 0);
    end(store);
    EXPECT_GT(store.memory(), 0);
  }
  ASSERT_TRUE(store.begin(4, state.pieces, "{}", {}, false));
  end(store);
  EXPECT_EQ(store.memory(), 0) << "training waited for it";
  expect_loads(directory.path(), cases()[0], 1, 4);
}

// A store that goes waits for what it writes; nothing of that is a checkpoint.
TEST(SaveBeside, WhatIsLeftIsNoCheckpoint) {
  const test::Scratch directory;
  run_ranks(2, [&](Group& world) {
    {
      CheckpointStore store(directory.path(), 2, world);
      store.begin(1, filled_state(rows(), 2, world.rank(), 1).pieces, "{}");
    }
    world.barrier();
    EXPECT_TRUE(list_checkpoints(directory.path()).empty());
    world.barrier();
    CheckpointStore next(directory.path(), 2, world);
    next.save(1, filled_state(rows(), 2, world.rank(), 4).pieces, "{}");
  });
  expect_loads(directory.path(), cases()[0], 4, 1);
}

}  // namespace
}  // namespace skein::checkpoint
