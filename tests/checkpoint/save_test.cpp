#include <algorithm>

#include "scenario.h"
#include "support/size_limit.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

bool holds_prefix(const std::string& directory, const std::string& prefix) {
  const auto names = names_in(directory);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); });
}

// Saves step 1, then lets `change` spoil the state of some rank for step 2, which must fail on
// every rank.
void expect_failed_save(const std::function<void(State&, int rank)>& change,
                        const std::vector<std::string>& words) {
  const test::Scratch directory;
  std::atomic<int> failures{0};
  run_ranks(2, [&](Group& world) {
    CheckpointStore store(directory.path(), 2, world);
    store.save(1, filled_state(rows(), 2, world.rank(), 1).pieces, "{}");
    State state = filled_state(rows(), 2, world.rank(), 2);
    change(state, world.rank());
    expect_error(
        ExitCode::failure, [&] { store.save(2, state.pieces, "{}"); }, words);
    ++failures;
    world.barrier();
    EXPECT_EQ(list_checkpoints(directory.path()).size(), 1u);
    world.barrier();
    store.save(3, filled_state(rows(), 2, world.rank(), 3).pieces, "{}");
  });
  EXPECT_EQ(failures, 2);
  EXPECT_FALSE(holds_prefix(directory.path(), "tmp-"));
  expect_loads(directory.path(), cases()[0], 3, 3);
}

TEST(Save, AFailingRankFailsAllAndHarmsNothing) {
  expect_failed_save(
      [](State& state, int rank) {
        if (rank == 1) state.pieces[0].end += 1;
      },
      {"rank 1", "param/block.0.weight", "leaves the box"});
}

TEST(Save, ElementsHeldTwiceAreRefused) {
  expect_failed_save(
      [](State& state, int rank) {
        if (rank == 1) state = filled_state(rows(), 1, 0, 2);
      },
      {"param/block.0.weight", "more than once"});
}

TEST(Save, MissingElementsAreRefused) {
  expect_failed_save(
      [](State& state, int rank) {
        if (rank == 0) state.pieces[0].end -= 1;
      },
      {"param/block.0.weight", "59 of its 60"});
}

TEST(Save, RanksMustAgreeAboutATensor) {
  expect_failed_save(
      [](State& state, int rank) {
        if (rank == 1) state.pieces[0].shape = {6, 11};
      },
      {"rank 1", "param/block.0.weight", "[6,11]", "[6,10]"});
}

TEST(Save, MetadataMustBeJson) {
  const test::Scratch directory;
  const auto alone = single_rank();
  CheckpointStore store(directory.path(), 2, *alone);
  expect_error(ExitCode::failure, [&] { store.save(1, {}, "not json"); }, {"JSON", "not json"});
  EXPECT_FALSE(holds_prefix(directory.path(), "tmp-"));
}

TEST(Save, NamesMustBePaths) {
  const test::Scratch directory;
  const auto alone = single_rank();
  CheckpointStore store(directory.path(), 2, *alone);
  for (const char* name : {"", "/a", "a//b", "a/", "a/../b", "a#1"}) {
    State state;
    state.add({name, DType::f32, {2}}, whole({2}));
    expect_error(ExitCode::usage, [&] { store.save(1, state.pieces, "{}"); },
                 {"cannot name a tensor"});
  }
}

// Only the rank with the large file fails while writing.
TEST(Save, AFailedWriteFailsAllAndHarmsNothing) {
  const test::Scratch directory;
  const Spec large{"large", DType::u8, {1 << 20}}, small{"small", DType::u8, {4}};
  std::atomic<int> failures{0};
  run_ranks(2, [&](Group& world) {
    CheckpointStore store(directory.path(), 2, world);
    State state;
    state.add(world.rank() == 1 ? large : small,
              whole(world.rank() == 1 ? large.shape : small.shape));
    store.save(1, state.pieces, "{}");
    std::unique_ptr<SizeLimit> limit;
    if (world.rank() == 0) limit = std::make_unique<SizeLimit>(1 << 19);
    world.barrier();
    expect_error(ExitCode::failure, [&] { store.save(2, state.pieces, "{}"); },
                 {"rank 1", "rank-00001.h5", "File too large"});
    ++failures;
    world.barrier();
    limit.reset();
    world.barrier();
    EXPECT_FALSE(holds_prefix(directory.path(), "tmp-"));
    world.barrier();
    store.save(2, state.pieces, "{}");
    EXPECT_EQ(find_checkpoint(directory.path(), world)->step, 2);
  });
  EXPECT_EQ(failures, 2);
}

TEST(Save, AnUnusableDirectoryIsAUsageError) {
  const test::Scratch directory;
  write(directory.file("file"), "text");
  for (const std::string& path : {directory.file("file"), directory.file("file/below")})
    run_ranks(2, [&](Group& world) {
      expect_error(ExitCode::usage, [&] { CheckpointStore(path, 2, world); }, {path, "directory"});
    });
  const auto alone = single_rank();
  expect_error(ExitCode::usage, [&] { CheckpointStore(directory.path(), 0, *alone); },
               {"0 checkpoints", "at least 1"});
}

TEST(Retention, KeepsTheNewest) {
  for (const int keep : {1, 3}) {
    const test::Scratch directory;
    run_ranks(2, [&](Group& world) {
      CheckpointStore store(directory.path(), keep, world);
      for (int64_t step = 1; step <= 5; ++step)
        store.save(step, filled_state(rows(), 2, world.rank(), 1).pieces, "{}");
    });
    const auto infos = list_checkpoints(directory.path());
    ASSERT_EQ(infos.size(), static_cast<size_t>(keep));
    for (int i = 0; i < keep; ++i) EXPECT_EQ(infos[static_cast<size_t>(i)].step, 5 - i);
    EXPECT_FALSE(holds_prefix(directory.path(), "trash-"));
  }
}

TEST(Save, LeavesTheGoodCommit) {
  const test::Scratch directory;
  const auto alone = single_rank();
  CheckpointStore store(directory.path(), 1, *alone);
  const auto saved = [&](int64_t step, std::optional<int64_t> good) {
    store.save(step, filled_state(rows(), 1, 0, 1).pieces, "{}", good);
    std::vector<int64_t> steps;
    for (const CheckpointInfo& info : list_checkpoints(directory.path()))
      steps.push_back(info.step);
    return steps;
  };
  using Steps = std::vector<int64_t>;
  EXPECT_EQ(saved(1, {}), Steps{1});
  EXPECT_EQ(saved(2, 1), (Steps{2, 1}));
  EXPECT_EQ(saved(3, 1), (Steps{3, 1}));
  EXPECT_EQ(saved(4, 3), (Steps{4, 3}));
  EXPECT_EQ(saved(5, -1), (Steps{5, 4, 3}));
  EXPECT_EQ(saved(6, {}), Steps{6});
}

}  // namespace
}  // namespace skein::checkpoint
