#include "skein/core/files/mapped_file.h"

#include <cstring>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "skein/core/error.h"

#include "support/scratch.h"

namespace skein {
namespace {

class MappedFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  std::string file(const std::string& name, const std::string& text) const {
    return folder_.write(name, text);
  }
  static void expect_error(ExitCode code, const std::function<void()>& act,
                           const std::vector<std::string>& words) {
    try {
      act();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      for (const std::string& word : words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
            << word << " is not in: " << error.what();
    }
  }

  test::Scratch folder_;
};

TEST_F(MappedFiles, HoldTheBytesOfTheFile) {
  const MappedFile mapped(file("a", "some bytes"));
  EXPECT_EQ(mapped.bytes(), 10u);
  EXPECT_EQ(mapped.whole().size(), 10u);
  EXPECT_EQ(mapped.head(4), "some");
  EXPECT_EQ(mapped.head(100), "some bytes");
  EXPECT_EQ(std::memcmp(mapped.at(5), "bytes", 5), 0);
}

TEST_F(MappedFiles, StayWhenTheFileIsTakenAway) {
  const MappedFile mapped(file("a", "some bytes"));
  std::filesystem::remove(path("a"));
  EXPECT_EQ(mapped.head(4), "some");
}

TEST_F(MappedFiles, AreReadAgainWhereTheirMemoryWasLetGo) {
  const std::string text(100'000, 'x');
  const MappedFile mapped(file("a", text));
  EXPECT_EQ(mapped.head(text.size()), text);
  mapped.let_go(mapped.at(1), 99'000);
  mapped.let_go(mapped.at(50), 10);
  EXPECT_EQ(mapped.head(text.size()), text);
}

TEST_F(MappedFiles, AreTheSameFileWhenOpenedAgain) {
  const MappedFile mapped(file("a", "some bytes"));
  const auto again = mapped.open_again(path("a"));
  std::string text(10, '\0');
  EXPECT_EQ(again->read_at(std::as_writable_bytes(std::span(text)), 0), 10u);
  EXPECT_EQ(text, "some bytes");
  std::filesystem::remove(path("a"));
  expect_error(ExitCode::failure, [&] { mapped.open_again(path("a")); },
               {"cannot open " + path("a") + " again to read it", "No such file"});
  file("a", "some bytes");
  expect_error(ExitCode::failure, [&] { mapped.open_again(path("a")); },
               {path("a") + " cannot be read again: another file took its place"});
}

TEST_F(MappedFiles, AreRegularFilesWithBytes) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  expect_error(ExitCode::usage, [&] { MappedFile mapped(path("pipe")); },
               {"pipe is not a regular file"});
  expect_error(ExitCode::usage, [&] { MappedFile mapped(folder_.path()); },
               {"is not a regular file"});
  expect_error(ExitCode::failure, [&] { MappedFile mapped(path("none")); },
               {"cannot open " + path("none"), "No such file"});
  expect_error(ExitCode::failure, [&] { MappedFile mapped(file("empty", "")); },
               {"cannot map " + path("empty") + " (0 bytes)"});
}

}  // namespace
}  // namespace skein
