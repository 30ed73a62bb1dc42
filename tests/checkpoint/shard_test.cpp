#include "skein/checkpoint/shard.h"

#include "scenario.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

const ShardHeader kHeader{12, 3, 1, 4};

State two_pieces() {
  State state;
  const Spec spec{"group/x", DType::bf16, {2, 3}};
  state.add(spec, {{0, 0}, {2, 3}, 0, 2});
  state.add(spec, {{0, 0}, {2, 3}, 2, 2});
  state.add(spec, {{0, 0}, {2, 3}, 2, 6});
  state.add({"group/y", DType::f64, {}}, whole({}));
  return state;
}

TEST(Shard, NamesDatasets) {
  const std::vector<std::string> expected = {"group/x#1", "group/x", "group/x#2", "group/y"};
  EXPECT_EQ(dataset_names(two_pieces().pieces), expected);
  EXPECT_EQ(shard_file_name(12), "rank-00012.h5");
}

TEST(Shard, IsTheLatestFormatAndEndsWhereItSays) {
  const Bytes image = build_shard(kHeader, two_pieces().pieces);
  EXPECT_EQ(std::memcmp(image.data(), "\211HDF\r\n\032\n", 8), 0);
  EXPECT_EQ(std::to_integer<int>(image.data()[8]), 3);
  int64_t end = 0;
  std::memcpy(&end, image.data() + 28, 8);
  EXPECT_EQ(image.size(), end);
}

TEST(Shard, GivesBackItsElements) {
  State state = two_pieces();
  for (size_t i = 0; i < state.memory.size(); ++i)
    std::fill(state.memory[i].begin(), state.memory[i].end(), static_cast<std::byte>(i + 1));
  const ShardReader reader(build_shard(kHeader, state.pieces), kHeader, "here");
  const auto names = dataset_names(state.pieces);
  for (const size_t i : {0, 2, 3}) {
    const Piece& piece = state.pieces[i];
    const std::byte* data = reader.elements(names[i], piece.dtype, piece.shape, region_of(piece));
    EXPECT_EQ(std::memcmp(data, piece.data, static_cast<size_t>(piece.bytes())), 0) << names[i];
  }
}

TEST(Shard, ManyTensorsFit) {
  State state;
  for (int i = 0; i < 3000; ++i)
    state.add({fmt::format("param/block.{}/w", i), DType::u8, {1}}, whole({1}));
  const ShardReader reader(build_shard(kHeader, state.pieces), kHeader, "here");
  EXPECT_EQ(*reader.elements("param/block.2999/w", DType::u8, {1}, whole({1})), std::byte{0xA5});
}

TEST(Shard, RefusesWhatTheManifestDoesNotSay) {
  const State state = two_pieces();
  for (const auto& [other, word] :
       std::vector<std::pair<ShardHeader, std::string>>{{{13, 3, 1, 4}, "step 12, not 13"},
                                                        {{12, 2, 1, 4}, "generation 3, not 2"},
                                                        {{12, 3, 0, 4}, "rank 1, not 0"},
                                                        {{12, 3, 1, 5}, "ranks 4, not 5"}})
    expect_error(ExitCode::usage,
                 [&] { ShardReader(build_shard(kHeader, state.pieces), other, "here"); },
                 {"here", word});
  const ShardReader reader(build_shard(kHeader, state.pieces), kHeader, "here");
  const Region region = region_of(state.pieces[0]);
  const std::vector<int64_t> shape = {2, 3};
  expect_error(ExitCode::usage, [&] { reader.elements("group/z", DType::bf16, shape, region); },
               {"group/z"});
  expect_error(ExitCode::usage, [&] { reader.elements("group/x#1", DType::f32, shape, region); },
               {"bf16", "f32"});
  expect_error(ExitCode::usage,
               [&] {
                 reader.elements("group/x#1", DType::bf16, {3, 2}, region);
               },
               {"shape"});
  expect_error(ExitCode::usage, [&] { reader.elements("group/x#2", DType::bf16, shape, region); },
               {"another part"});
  Bytes nothing(100);
  expect_error(ExitCode::usage, [&] { ShardReader(std::move(nothing), kHeader, "here"); },
               {"here"});
}

}  // namespace
}  // namespace skein::checkpoint
