#include "skein/core/files/output_target.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include "skein/core/error.h"

#include "support/expect_error.h"
#include "support/scratch.h"

namespace skein {
namespace {

namespace fs = std::filesystem;

class OutputTargetTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.file(name); }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  test::Scratch folder_;
};

TEST_F(OutputTargetTest, WritesAllOrSaysWhyNot) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  char got[8] = "";
  EXPECT_TRUE(write_whole(ends[1], ""));
  EXPECT_TRUE(write_whole(ends[1], "some"));
  EXPECT_EQ(::read(ends[0], got, sizeof(got)), 4);
  EXPECT_STREQ(got, "some");
  EXPECT_FALSE(write_whole(ends[1], std::string(1 << 22, 'x')));  // more than a pipe holds
  EXPECT_EQ(errno, EAGAIN);
  close(ends[0]);
  close(ends[1]);
  EXPECT_FALSE(write_whole(-1, "x"));
  EXPECT_EQ(errno, EBADF);
}

TEST_F(OutputTargetTest, SaysWhatStandsThere) {
  write(at("file"), "1");
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(output_target(at("nothing")).occupant, Occupant::nothing);
  EXPECT_EQ(output_target(at("file")).occupant, Occupant::file);
  EXPECT_EQ(output_target(at("file/below")).occupant, Occupant::nothing);
  EXPECT_EQ(output_target(folder_.path()).occupant, Occupant::folder);
  EXPECT_EQ(output_target(at("pipe")).occupant, Occupant::stream);
  EXPECT_EQ(output_target("/dev/null").occupant, Occupant::stream);
  EXPECT_EQ(output_target("/dev/stdout").descriptor, 1);
  EXPECT_EQ(output_target("/dev/fd/7").descriptor, 7);
  EXPECT_EQ(output_target(at("7")).descriptor, -1);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  ASSERT_LT(at("socket").size(), sizeof(name.sun_path));
  at("socket").copy(name.sun_path, sizeof(name.sun_path) - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  EXPECT_EQ(output_target(at("socket")).occupant, Occupant::other);
  close(listener);
}

TEST_F(OutputTargetTest, LinksAreFollowedToWhatTheyName) {
  write(at("file"), "1");
  fs::create_symlink("file", at("near"));
  fs::create_symlink(at("near"), at("far"));
  fs::create_symlink("later", at("dangling"));
  fs::create_symlink("/dev/null", at("hole"));
  EXPECT_EQ(output_target(at("far")).path, at("file"));
  EXPECT_EQ(output_target(at("dangling")).path, at("later"));
  EXPECT_EQ(output_target(at("dangling")).occupant, Occupant::nothing);
  EXPECT_EQ(output_target(at("hole")).occupant, Occupant::stream);
  fs::create_symlink("circle", at("circle"));
  EXPECT_NE(test::error_text(ExitCode::usage, [&] { output_target(at("circle")); }).find("circle"),
            std::string::npos);
  write(at("new"), "2");
  publish(at("new"), file_target(at("far"), ExistingFile::replace), ExistingFile::replace);
  EXPECT_EQ(test::bytes_of_file(at("file")), "2");
  EXPECT_TRUE(fs::is_symlink(at("far")));
}

TEST_F(OutputTargetTest, FilesReplaceFilesAlone) {
  write(at("file"), "1");
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(file_target(at("file"), ExistingFile::replace), at("file"));
  EXPECT_EQ(file_target(at("new"), ExistingFile::refuse), at("new"));
  EXPECT_EQ(test::error_text(ExitCode::usage,
                             [&] { file_target(at("file"), ExistingFile::refuse, "a.b"); }),
            "a.b=" + at("file") + " exists already and is not to be replaced; choose another name");
  EXPECT_EQ(test::error_text(ExitCode::usage,
                             [] { file_target("/dev/null", ExistingFile::replace, "a.b"); }),
            "a.b=/dev/null is a device, which no file may take the place of; name a file");
  for (const std::string& taken : {folder_.path(), at("pipe"), std::string("/dev/stdout")})
    test::error_text(ExitCode::usage, [&] { file_target(taken, ExistingFile::replace); });
}

TEST_F(OutputTargetTest, WhatCameToStandThereMeanwhileStays) {
  write(at("new"), "2");
  write(at("file"), "1");
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_NE(test::error_text(ExitCode::failure,
                             [&] { publish(at("new"), at("file"), ExistingFile::refuse); })
                .find("has come to exist"),
            std::string::npos);
  EXPECT_NE(test::error_text(ExitCode::failure,
                             [&] { publish(at("new"), at("pipe"), ExistingFile::replace); })
                .find("a named pipe"),
            std::string::npos);
  EXPECT_EQ(test::bytes_of_file(at("file")), "1");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  publish(at("new"), at("free"), ExistingFile::refuse);
  EXPECT_EQ(test::bytes_of_file(at("free")), "2");
  EXPECT_FALSE(fs::exists(at("new")));
}

TEST_F(OutputTargetTest, StreamsTakeBytesInOrder) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = test::bytes_of_file(at("pipe")); });
  write_stream(output_target(at("pipe")), "some bytes");
  reader.join();
  EXPECT_EQ(got, "some bytes");
  const int file = open(at("file").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::write(file, "a", 1), 1);
  write_stream(output_target("/dev/fd/" + std::to_string(file)), "b");
  ASSERT_EQ(::write(file, "c", 1), 1);
  close(file);
  EXPECT_EQ(test::bytes_of_file(at("file")), "abc");
  EXPECT_NE(
      test::error_text(ExitCode::failure, [] { write_stream(output_target("/dev/full"), "x"); })
          .find("/dev/full"),
      std::string::npos);
}

TEST_F(OutputTargetTest, TemporaryNamesAreNeverFollowed) {
  write(at("other"), "precious");
  fs::create_symlink(at("other"), at("x.partial"));
  const int made = make_temporary_file(at("x.partial"));
  ASSERT_GE(made, 0);
  EXPECT_EQ(::write(made, "new", 3), 3);
  ::close(made);
  EXPECT_EQ(test::bytes_of_file(at("other")), "precious");
  EXPECT_EQ(test::bytes_of_file(at("x.partial")), "new");
  EXPECT_FALSE(fs::is_symlink(at("x.partial")));
  const int again = make_temporary_file(at("x.partial"));  // a killed process has left one
  ASSERT_GE(again, 0);
  ::close(again);
  EXPECT_EQ(test::bytes_of_file(at("x.partial")), "");
  fs::create_directory(at("folder"));
  EXPECT_LT(make_temporary_file(at("folder")), 0);
}

}  // namespace
}  // namespace skein
