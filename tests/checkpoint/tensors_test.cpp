#include "skein/checkpoint/tensors.h"

#include "scenario.h"

namespace skein::checkpoint {
namespace {

using test::Scratch;

Piece piece(const std::string& name, std::vector<int64_t> shape, int64_t begin, int64_t end) {
  return {name,  DType::f32, shape, std::vector<int64_t>(shape.size(), 0),
          shape, begin,      end,   nullptr};
}

// Element i of each tensor is i.
void count_up(const Piece& piece, std::byte* out) {
  for (int64_t i = piece.begin; i < piece.end; ++i) {
    const float value = static_cast<float>(i);
    std::memcpy(out + (i - piece.begin) * 4, &value, 4);
  }
}

std::vector<std::vector<Piece>> plan() {
  return {{piece("param/a", {3, 4}, 0, 7)},
          {piece("param/a", {3, 4}, 7, 12), piece("param/b", {5}, 0, 5)}};
}

TEST(CheckpointTensors, GiveBackWhatWasSavedShardByShard) {
  const test::Scratch directory;
  const auto alone = single_rank();
  const std::string path =
      save_in_shards(directory.file("run"), 3, plan(), R"({"a": 1})", count_up);
  const auto info = find_checkpoint(directory.file("run"), *alone);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->path, path);
  EXPECT_EQ(info->step, 3);
  EXPECT_EQ(info->metadata, R"({"a":1})");
  CheckpointTensors tensors(*info);
  ASSERT_EQ(tensors.tensors().size(), 2u);
  std::vector<float> read(8);
  tensors.read("param/a", 3, 11, DType::f32, reinterpret_cast<std::byte*>(read.data()));
  EXPECT_EQ(read, (std::vector<float>{3, 4, 5, 6, 7, 8, 9, 10}));
  std::vector<BFloat16> narrow(5);
  tensors.read("param/b", 0, 5, DType::bf16, reinterpret_cast<std::byte*>(narrow.data()));
  EXPECT_EQ(static_cast<float>(narrow[4]), 4.0f);
  EXPECT_THROW(tensors.read("param/c", 0, 1, DType::f32, reinterpret_cast<std::byte*>(read.data())),
               Error);
}

TEST(CheckpointTensors, GiveTheSameAgain) {
  const test::Scratch directory;
  const auto alone = single_rank();
  save_in_shards(directory.file("run"), 0, {{piece("param/a", {20000}, 0, 20000)}}, "{}", count_up);
  CheckpointTensors tensors(*find_checkpoint(directory.file("run"), *alone));
  for (int again = 0; again < 2; ++again) {
    std::vector<float> read(20000);
    tensors.read("param/a", 0, 20000, DType::f32, reinterpret_cast<std::byte*>(read.data()));
    for (size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i], static_cast<float>(i));
  }
}

TEST(CheckpointTensors, LeaveNothingOfASaveThatFailed) {
  const test::Scratch directory;
  int filled = 0;
  const auto stop = [&](const Piece&, std::byte*) {
    if (++filled == 2) fail("the source ended");
  };
  EXPECT_THROW(save_in_shards(directory.file("run"), 0, plan(), "{}", stop), Error);
  EXPECT_TRUE(list_checkpoints(directory.file("run")).empty());
  for (const auto& entry : std::filesystem::directory_iterator(directory.file("run")))
    EXPECT_TRUE(entry.path().filename().string().starts_with("generation-")) << entry.path();
}

TEST(CheckpointTensors, RefuseAPlanThatLeavesElementsOut) {
  const test::Scratch directory;
  EXPECT_THROW(
      save_in_shards(directory.file("run"), 0, {{piece("param/a", {3, 4}, 0, 11)}}, "{}", count_up),
      Error);
  EXPECT_TRUE(list_checkpoints(directory.file("run")).empty());
}

}  // namespace
}  // namespace skein::checkpoint
