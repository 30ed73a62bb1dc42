#include "skein/formats/safetensors.h"

#include <array>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/data_fixtures.h"

namespace skein::formats {
namespace {

using test::bytes_of_file;
using test::Scratch;
using test::write_file;

std::string with_length(const std::string& header, const std::string& data = "") {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i));
  return text + header + data;
}

std::string entry(const std::string& name, const std::string& shape, int begin, int end,
                  const std::string& type = "F32") {
  return fmt::format("\"{}\":{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", name,
                     type, shape, begin, end);
}

std::vector<std::byte> read_whole(const SafetensorsFile& file, const SafeTensor& tensor) {
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes()));
  file.read(tensor, 0, bytes);
  return bytes;
}

const SafeTensor& named(const SafetensorsFile& file, const std::string& name) {
  for (const SafeTensor& tensor : file.tensors())
    if (tensor.name == name) return tensor;
  throw std::runtime_error("no tensor " + name);
}

TEST(Safetensors, ReadsWhatTheReferenceWrites) {
  const SafetensorsFile file("formats/reference.safetensors");
  EXPECT_EQ(file.tensors().size(), 11u);
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  const SafeTensor& floats = named(file, "a.f32");
  EXPECT_EQ(floats.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(floats.dtype(), DType::f32);
  std::array<float, 2> two{};
  file.read(floats, 8, std::as_writable_bytes(std::span(two)));
  EXPECT_EQ(two, (std::array<float, 2>{-1.5f, 1.5f}));
  std::array<BFloat16, 6> brain{};
  file.read(named(file, "brain"), 0, std::as_writable_bytes(std::span(brain)));
  EXPECT_EQ(static_cast<float>(brain[5]), 2.5f);
  EXPECT_EQ(named(file, "flags").dtype(), DType::u8);
  EXPECT_TRUE(named(file, "scalar").shape.empty());
  EXPECT_EQ(named(file, "scalar").bytes(), 4);
  EXPECT_EQ(named(file, "empty").bytes(), 0);
}

TEST(Safetensors, WritesTheBytesOfTheReference) {
  const Scratch scratch;
  const SafetensorsFile file("formats/reference.safetensors");
  std::vector<SafeTensor> tensors = file.tensors();
  std::reverse(tensors.begin(), tensors.end());
  SafetensorsWriter writer(scratch.file("copy"), tensors, file.metadata());
  for (const SafeTensor& tensor : writer.tensors()) {
    const auto bytes = read_whole(file, named(file, tensor.name));
    writer.append(std::span(bytes).first(bytes.size() / 2));
    writer.append(std::span(bytes).subspan(bytes.size() / 2));
  }
  writer.finish();
  EXPECT_EQ(bytes_of_file(scratch.file("copy")), bytes_of_file("formats/reference.safetensors"));
  EXPECT_EQ(scratch.entries(), 1);
}

TEST(Safetensors, LeavesNothingOfAnUnfinishedFile) {
  const Scratch scratch;
  write_file(scratch.file("model"), "before");
  { SafetensorsWriter writer(scratch.file("model"), {{"a", "F32", {2}, 0, 0}}, {}); }
  EXPECT_EQ(bytes_of_file(scratch.file("model")), "before");
  EXPECT_EQ(scratch.entries(), 1);
  test::expect_error(ExitCode::failure, {"cannot create", "nowhere"},
                     [&] { SafetensorsWriter writer(scratch.file("nowhere/model"), {}, {}); });
  test::expect_error(ExitCode::usage, {"/dev/null is a device"},
                     [] { SafetensorsWriter writer("/dev/null", {}, {}); });
}

struct Lie {
  const char* name;
  std::string text;
  std::string reason;
};

class SafetensorsLies : public testing::TestWithParam<Lie> {};

TEST_P(SafetensorsLies, AreRefused) {
  const Scratch scratch;
  write_file(scratch.file("lie"), GetParam().text);
  test::expect_error(ExitCode::usage, {scratch.file("lie"), GetParam().reason},
                     [&] { SafetensorsFile file(scratch.file("lie")); });
}

const std::string kEight(8, 'x');

std::string many_ones(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += ",1";
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    All, SafetensorsLies,
    testing::Values(
        Lie{"Empty", "", "only 0 bytes"}, Lie{"NoLength", "1234567", "only 7 bytes"},
        Lie{"HugeLength", std::string(8, '\xff') + "{}", "100000000 is the most"},
        Lie{"LengthBeyondTheFile", std::string("\x40\0\0\0\0\0\0\0{}", 10),
            "claims 64 bytes and the file has 10"},
        Lie{"NoBrace", with_length(" {}"), "does not begin with '{'"},
        Lie{"NoJson", with_length("{\"a\":"), "not JSON"},
        Lie{"InvalidUtf8", with_length("{\"\xff\":1}"), "not JSON"},
        Lie{"Deep", with_length("{\"a\":" + std::string(100000, '[')), "an array where an object"},
        Lie{"DeepShape", with_length(R"({"a":{"shape":[[)" + std::string(1000, '[')),
            "an array where a number"},
        Lie{"NumberForTensor", with_length(R"({"a":3})"), "the number 3 where an object"},
        Lie{"NegativeDim", with_length(R"({"a":{"shape":[-1]}})"),
            "the number -1 where a number from 0"},
        Lie{"FractionalDim", with_length(R"({"a":{"shape":[1.5]}})"), "the number 1.5"},
        Lie{"HugeDim", with_length(R"({"a":{"shape":[18446744073709551615]}})"),
            "18446744073709551615"},
        Lie{"UnknownType", with_length("{" + entry("a", "[1]", 0, 4, "F33") + "}", "1234"),
            "unknown dtype \"F33\""},
        Lie{"UnknownField", with_length(R"({"a":{"strides":[1]}})"), "unknown field \"strides\""},
        Lie{"FieldTwice", with_length(R"({"a":{"shape":[1],"shape":[2]}})"), "field shape twice"},
        Lie{"NoOffsets", with_length(R"({"a":{"dtype":"F32","shape":[1]}})"), "lacks one of"},
        Lie{"OneOffset", with_length(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})"),
            "1 data_offsets"},
        Lie{"ThreeOffsets", with_length(R"({"a":{"data_offsets":[0,1,2]}})"),
            "more than 2 numbers"},
        Lie{"EndBeforeBegin", with_length("{" + entry("a", "[1]", 8, 4) + "}", kEight),
            "begins at byte 8 and ends at 4"},
        Lie{"WrongSize", with_length("{" + entry("a", "[3]", 0, 8) + "}", kEight),
            "its shape [3] of F32 takes 12"},
        Lie{"ProductOverflows",
            with_length("{" + entry("a", "[4294967296,4294967296]", 0, 8) + "}", kEight),
            "more than 2^63"},
        Lie{"ProductWrapsToItsSize",
            with_length("{" + entry("a", "[9223372036854775807,4]", 0, 8) + "}", kEight),
            "more than 2^63"},
        Lie{"NameTwice",
            with_length("{" + entry("a", "[1]", 0, 4) + "," + entry("a", "[1]", 4, 8) + "}",
                        kEight),
            "tensor \"a\" twice"},
        Lie{"Overlap",
            with_length("{" + entry("a", "[2]", 0, 8) + "," + entry("b", "[1]", 4, 8) + "}",
                        kEight),
            "inside of another"},
        Lie{"SameBytes",
            with_length("{" + entry("a", "[2]", 0, 8) + "," + entry("b", "[2]", 0, 8) + "}",
                        kEight),
            "inside of another"},
        Lie{"Hole", with_length("{" + entry("a", "[1]", 4, 8) + "}", kEight), "bytes 0 to 4"},
        Lie{"Cut", with_length("{" + entry("a", "[3]", 0, 12) + "}", kEight), "cut short"},
        Lie{"Behind", with_length("{" + entry("a", "[1]", 0, 4) + "}", kEight), "4 bytes behind"},
        Lie{"ManyDims", with_length(R"({"a":{"shape":[1)" + many_ones(64) + "]}}"),
            "more than 64 dims"},
        Lie{"MetadataNumber", with_length(R"({"__metadata__":{"a":1}})"), "where a text"},
        Lie{"MetadataTwice", with_length(R"({"__metadata__":{"a":"1","a":"2"}})"),
            "names \"a\" twice"}),
    [](const auto& info) { return info.param.name; });

TEST(Safetensors, RefusesWhatIsNoFile) {
  const Scratch scratch;
  test::expect_error(ExitCode::usage, {"nowhere", "No such file"},
                     [&] { SafetensorsFile file(scratch.file("nowhere")); });
  test::expect_error(ExitCode::usage, {"not a regular file"},
                     [] { SafetensorsFile file("formats"); });
  ASSERT_EQ(::mkfifo(scratch.file("pipe").c_str(), 0600), 0);
  test::expect_error(ExitCode::usage, {"not a regular file"},
                     [&] { SafetensorsFile file(scratch.file("pipe")); });
}

TEST(Safetensors, SaysThatAFileEndedWhileItWasRead) {
  const Scratch scratch;
  const std::string path = scratch.file("model");
  write_file(path, with_length("{" + entry("a", "[2]", 0, 8) + "}", kEight));
  const SafetensorsFile file(path);
  ASSERT_EQ(::truncate(path.c_str(), 20), 0);
  test::expect_error(ExitCode::failure, {path, "ended early"},
                     [&] { read_whole(file, file.tensors().front()); });
}

TEST(SafetensorsIndex, ComesBackAsWritten) {
  const Scratch scratch;
  const std::map<std::string, std::string> files{{"b", "model-00002-of-00002.safetensors"},
                                                 {"a", "model-00001-of-00002.safetensors"}};
  write_file(scratch.file("index"), safetensors_index(files, 1234, 617));
  EXPECT_EQ(read_safetensors_index(scratch.file("index")), files);
  const std::string text = bytes_of_file(scratch.file("index"));
  EXPECT_NE(text.find("\"total_size\": 1234"), std::string::npos);
  EXPECT_NE(text.find("\"total_parameters\": 617"), std::string::npos);
}

TEST(SafetensorsIndex, RefusesLies) {
  const Scratch scratch;
  const auto refused = [&](const std::string& text, const std::string& reason) {
    write_file(scratch.file("index"), text);
    test::expect_error(ExitCode::usage, {scratch.file("index"), reason},
                       [&] { read_safetensors_index(scratch.file("index")); });
  };
  refused("", "not JSON");
  refused("[]", "no weight_map");
  refused(R"({"weight_map": {}})", "no weight_map");
  refused(R"({"weight_map": {"a": 3}})", "no file name");
  refused(R"({"weight_map": {"a": "../../etc/passwd"}})", "no file beside it");
  refused(R"({"weight_map": {"a": ".."}})", "no file beside it");
  refused(R"({"weight_map": {"a": "x", "a": "y"}})", "names a twice");
  refused(std::string(100000, '['), "nested deeper");
  test::expect_error(ExitCode::usage, {"nowhere"},
                     [&] { read_safetensors_index(scratch.file("nowhere")); });
}

}  // namespace
}  // namespace skein::formats
