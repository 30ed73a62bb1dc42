#include "scenario.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

// Every layout is loaded under every other, bit for bit.
class Reshard : public testing::TestWithParam<size_t> {};

TEST_P(Reshard, LoadsUnderEveryLayout) {
  const test::Scratch directory;
  const Case from = cases()[GetParam()];
  save(directory.path(), from, 100, 7);
  for (const Case& to : cases()) {
    SCOPED_TRACE(std::string(from.name) + " to " + to.name);
    expect_loads(directory.path(), to, 7, 100);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Reshard, testing::Range<size_t>(0, cases().size()),
                         [](const auto& info) { return std::string(cases()[info.param].name); });

TEST(Checkpoint, KeepsMetadataAndName) {
  const test::Scratch directory;
  const std::string path = save(directory.file("new/run"), cases()[1], 42, 1);
  EXPECT_EQ(path, directory.file("new/run/step-00000042.g000001"));
  const auto infos = list_checkpoints(directory.file("new/run"));
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].path, path);
  EXPECT_EQ(infos[0].step, 42);
  EXPECT_EQ(infos[0].generation, 1);
  EXPECT_EQ(infos[0].metadata, R"({"config":"[train]","tokens":12})");
}

TEST(Checkpoint, NothingIsFoundInAnEmptyOrMissingDirectory) {
  const test::Scratch directory;
  const auto alone = single_rank();
  EXPECT_FALSE(find_checkpoint(directory.path(), *alone).has_value());
  EXPECT_FALSE(find_checkpoint(directory.file("missing"), *alone).has_value());
  EXPECT_TRUE(list_checkpoints(directory.file("missing")).empty());
}

TEST(Checkpoint, SaysWhatLiesWhereNoneIs) {
  const test::Scratch directory;
  EXPECT_EQ(no_checkpoint(directory.path()),
            directory.path() + " holds no checkpoint; give a run's folder or a checkpoint");
  EXPECT_NE(no_checkpoint(directory.file("missing")).find("there is no such folder"),
            std::string::npos);
  std::filesystem::create_directory(directory.file("gpt2"));
  std::ofstream(directory.file("gpt2/config.json")) << "{}";
  const std::string said = no_checkpoint(directory.file("gpt2/"));
  EXPECT_NE(said.find("a model of Hugging Face"), std::string::npos) << said;
  EXPECT_NE(said.find("`skein-convert " + directory.file("gpt2/") + " runs/gpt2`"),
            std::string::npos)
      << said;
}

TEST(Checkpoint, OneCheckpointCanBeNamed) {
  const test::Scratch directory;
  const std::string older = save(directory.path(), cases()[1], 1, 1);
  save(directory.path(), cases()[1], 2, 2);
  expect_loads(older + "/", cases()[3], 1, 1);
  std::filesystem::rename(older, directory.file("best"));
  expect_loads(directory.file("best"), cases()[3], 1, 1);
  const auto alone = single_rank();
  expect_error(ExitCode::usage, [&] { find_checkpoint(older, *alone); },
               {"no checkpoint", "step-00000001"});
}

TEST(Checkpoint, TheSameStepAgainChangesNothing) {
  const test::Scratch directory;
  const auto alone = single_rank();
  CheckpointStore store(directory.path(), 2, *alone);
  const State first = filled_state(rows(), 1, 0, 1), second = filled_state(rows(), 1, 0, 2);
  const std::string path = store.save(5, first.pieces, "{}");
  EXPECT_EQ(store.save(5, second.pieces, "{}"), path);
  expect_loads(directory.path(), cases()[0], 1, 5);
}

TEST(Load, ListsMissingExtraAndMisshapenTensors) {
  const test::Scratch directory;
  save(directory.path(), cases()[1], 1, 1);
  const auto alone = single_rank();
  const auto info = find_checkpoint(directory.path(), *alone);
  State state;
  state.add({"param/other", DType::f32, {3}}, whole({3}));
  state.add({"param/block.0.weight", DType::f32, {10, 6}}, whole({10, 6}));
  state.add({"table", DType::i64, {2, 9}}, whole({2, 9}));
  const auto strictly = [&] { load_checkpoint(*info, state.pieces, true, *alone); };
  expect_error(
      ExitCode::usage, strictly,
      {"not in the checkpoint (1): param/other", "only in the checkpoint (5)", "mask",
       "param/block.0.weight is [6,10] there and [10,6] here", "table is i32 there and i64 here"});
  State part;
  part.add(specs()[0], whole(specs()[0].shape));
  load_checkpoint(*info, part.pieces, false, *alone);
  EXPECT_EQ(part.memory[0], filled_state(rows(), 1, 0, 1).memory[0]);
}

TEST(Load, SaysThatACheckpointHoldsWeightsAlone) {
  const test::Scratch directory;
  const auto alone = single_rank();
  State state;
  state.add({"param/x", DType::f32, {4}}, whole({4}));
  CheckpointStore(directory.path(), 1, *alone).save(1, state.pieces, "{}");
  const auto info = find_checkpoint(directory.path(), *alone);
  const auto strictly = [&] { load_checkpoint(*info, state.pieces, true, *alone); };
  EXPECT_NO_THROW(strictly());
  for (const char* name : {"adam_m/x", "adam_v/x"}) state.add({name, DType::f32, {4}}, whole({4}));
  expect_error(
      ExitCode::usage, strictly,
      {"holds weights alone", "(2 tensors, adam_m/x the first)", "checkpoint.weights_only=true"});
  state.add({"param/y", DType::f32, {4}}, whole({4}));
  expect_error(ExitCode::usage, strictly, {"not in the checkpoint (3): adam_m/x"});
}

TEST(Load, OneRanksMismatchFailsOnAll) {
  const test::Scratch directory;
  save(directory.path(), cases()[0], 1, 1);
  std::atomic<int> refused{0};
  run_ranks(3, [&](Group& world) {
    const auto info = find_checkpoint(directory.path(), world);
    State state;
    if (world.rank() == 2) state.add({"param/other", DType::f32, {3}}, whole({3}));
    expect_error(ExitCode::usage, [&] { load_checkpoint(*info, state.pieces, false, world); },
                 {"rank 2", "param/other"});
    ++refused;
  });
  EXPECT_EQ(refused, 3);
}

TEST(Load, ConvertsFloatingTypes) {
  const test::Scratch directory;
  const auto alone = single_rank();
  // 1 + 2^-8 lies halfway between two bf16 numbers; a little above it must go up, also from double.
  const std::vector<double> values = {1.0 + 0x1p-8, 1.0 + 0x1p-8 + 0x1p-40, -3.5, 1e300};
  State saved;
  saved.add({"x", DType::f64, {4}}, whole({4}));
  std::memcpy(saved.pieces[0].data, values.data(), 32);
  CheckpointStore(directory.path(), 1, *alone).save(1, saved.pieces, "{}");
  State narrow;
  narrow.add({"x", DType::bf16, {4}}, whole({4}));
  load_checkpoint(*find_checkpoint(directory.path(), *alone), narrow.pieces, true, *alone);
  const auto* bits = reinterpret_cast<const uint16_t*>(narrow.memory[0].data());
  EXPECT_EQ(bits[0], 0x3f80);
  EXPECT_EQ(bits[1], 0x3f81);
  EXPECT_EQ(bits[2], 0xc060);
  EXPECT_EQ(bits[3], 0x7f80);
}

}  // namespace
}  // namespace skein::checkpoint
