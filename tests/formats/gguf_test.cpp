#include "skein/formats/gguf.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

#include "data/data_fixtures.h"
#include "support/gguf_file.h"

namespace skein::formats {
namespace {

using test::Scratch;

std::vector<float> rows_of_two() {
  std::vector<float> values;
  for (int i = 0; i < 32; ++i) values.push_back(static_cast<float>((i * 37 % 101 - 50) / 7.0));
  for (int i = 0; i < 32; ++i) values.push_back(static_cast<float>(i * i % 13 * 1e-3));
  return values;
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// tools/make_gguf_golden.py had the format's own writer write that.
TEST(Gguf, IsWhatItsAuthorsWrite) {
  const Scratch scratch;
  const std::string path = scratch.file("made.gguf");
  GgufWriter writer(
      path,
      {{"general.architecture", std::string("gpt2")},
       {"a.count", uint32_t{7}},
       {"a.part", 0.1F},
       {"a.yes", true},
       {"a.text", std::string("h\u00e9llo")},
       {"a.texts", std::vector<std::string>{"x", "", "yz"}},
       {"a.numbers", std::vector<int32_t>{-1, 2}},
       {"a.parts", std::vector<float>{0.5F, -2.0F}},
       {"a.bytes", std::vector<uint8_t>{0, 255}}},
      {{"q", GgufType::q8_0, {2, 32}}, {"f", GgufType::f32, {3}}, {"h", GgufType::f16, {2, 1}}});
  std::vector<std::byte> blocks(2 * kGgufBlockBytes);
  write_q8_0(rows_of_two(), blocks.data());
  writer.append(std::span(blocks).first(5));
  writer.append(std::span(blocks).subspan(5));
  writer.append(bytes_of(std::vector{1.5F, -2.0F, 3.0F}));
  writer.append(bytes_of(std::vector{Float16(1.5F), Float16(0.1F)}));
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.finish();
  EXPECT_TRUE(test::bytes_of_file(path) == test::bytes_of_file("formats/reference.gguf"));
  const test::GgufFile read(test::bytes_of_file(path));
  EXPECT_EQ(read.value("a.texts"), (nlohmann::json{"x", "", "yz"}));
  EXPECT_EQ(read.tensor("q").shape, (std::vector<uint64_t>{2, 32}));
}

TEST(Gguf, BlocksAreWithinHalfAStep) {
  const std::vector<float> values = rows_of_two();
  std::vector<std::byte> blocks(2 * kGgufBlockBytes);
  write_q8_0(values, blocks.data());
  for (size_t i = 0; i < values.size(); ++i) {
    const std::byte* block = blocks.data() + i / 32 * kGgufBlockBytes;
    Float16 d;
    std::memcpy(&d.bits, block, 2);
    const auto number = static_cast<int8_t>(block[2 + i % 32]);
    const auto step = static_cast<float>(d);
    EXPECT_NEAR(step * number, values[i], 0.51 * step + 127 * step * 0x1p-11) << i;
  }
}

TEST(Gguf, BlocksOfOddValues) {
  std::vector<float> values(96, 0);
  values[3] = std::numeric_limits<float>::infinity();
  values[40] = 1e-42F;
  std::vector<std::byte> blocks(3 * kGgufBlockBytes);
  write_q8_0(values, blocks.data());
  Float16 d[3];
  for (int i = 0; i < 3; ++i) std::memcpy(&d[i].bits, blocks.data() + i * kGgufBlockBytes, 2);
  EXPECT_TRUE(std::isnan(static_cast<float>(d[0])));
  EXPECT_EQ(static_cast<float>(d[1]), 0);
  EXPECT_EQ(static_cast<float>(d[2]), 0);
}

TEST(Gguf, RefusesOtherTypesAndFilesThatAreThere) {
  EXPECT_EQ(gguf_type(DType::bf16), GgufType::bf16);
  EXPECT_EQ(gguf_type_name(GgufType::q8_0), "Q8_0");
  test::expect_error(ExitCode::usage, {"f32, f16, bf16 or q8_0, not f64", "--dtype"},
                     [] { gguf_type(DType::f64); });
  const Scratch scratch;
  test::write_file(scratch.file("there.gguf"), "x");
  test::expect_error(ExitCode::usage, {"there.gguf", "exists"},
                     [&] { GgufWriter(scratch.file("there.gguf"), {}, {}); });
}

// One that is not finished leaves nothing.
TEST(Gguf, IsWholeOrNotThere) {
  const Scratch scratch;
  { GgufWriter writer(scratch.file("half.gguf"), {}, {{"f", GgufType::f32, {3}}}); }
  EXPECT_EQ(scratch.entries(), 0);
}

}  // namespace
}  // namespace skein::formats
