// Texts as vectors.
#include "skein/train/tasks/vector_file.h"

#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skein/core/json.h"
#include "skein/formats/npy.h"

#include "data/data_fixtures.h"

namespace skein::train {
namespace {

using namespace test;

TEST(VectorFiles, AreArraysOfAllRows) {
  const Scratch scratch;
  VectorFile file("x.output", scratch.file("a.npy"), 2);
  file.add(std::vector<std::string>{"a", "b"},
           Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2}));
  file.add(std::vector<std::string>{"c"}, Tensor::from(std::vector<float>{5, 6}, {1, 2}));
  EXPECT_FALSE(std::filesystem::exists(scratch.file("a.npy")));
  file.finish();
  const std::string bytes = bytes_of_file(scratch.file("a.npy"));
  ASSERT_EQ(bytes.size(), 128u + 6 * sizeof(float));
  EXPECT_EQ(bytes.substr(0, 128), formats::npy_header(3, 2));
  std::vector<float> values(6);
  std::memcpy(values.data(), bytes.data() + 128, 6 * sizeof(float));
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(VectorFiles, AreObjectsALine) {
  const Scratch scratch;
  VectorFile file("x.output", scratch.file("a.jsonl"), 2);
  file.add(std::vector<std::string>{"a", "caf\xc3"},
           Tensor::from(std::vector<float>{1, 2, 0.5, -4}, {2, 2}));
  file.finish();
  EXPECT_EQ(bytes_of_file(scratch.file("a.jsonl")),
            "{\"text\":\"a\",\"embedding\":[1.0,2.0]}\n"
            "{\"text\":\"caf\xef\xbf\xbd\",\"embedding\":[0.5,-4.0]}\n");
  VectorFile pictures("x.output", scratch.file("b.jsonl"), 1, "picture");
  pictures.add({"a.png"}, Tensor::from(std::vector<float>{3}, {1, 1}));
  pictures.finish();
  EXPECT_EQ(bytes_of_file(scratch.file("b.jsonl")),
            "{\"picture\":\"a.png\",\"embedding\":[3.0]}\n");
}

TEST(VectorFiles, OfArraysAreNoPipes) {
  const Scratch scratch;
  ASSERT_EQ(::mkfifo(scratch.file("a.npy").c_str(), 0600), 0);
  const int reader = ::open(scratch.file("a.npy").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  expect_error(ExitCode::usage,
               {"x.output=" + scratch.file("a.npy") + " is no file", "give a .jsonl"},
               [&] { VectorFile("x.output", scratch.file("a.npy"), 2); });
  ::close(reader);
}

}  // namespace
}  // namespace skein::train
