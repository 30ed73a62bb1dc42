// Files that hold a secret.
#include "skein/comm/tcp/private_file.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "skein/core/error.h"

#include "support/scratch.h"
#include "support/size_limit.h"

namespace skein {
namespace {

namespace fs = std::filesystem;

class PrivateFile : public testing::Test {
 protected:
  std::string path(const std::string& name = "secret") const { return folder_.file(name); }
  void put(const std::string& text, mode_t mode) const {
    std::ofstream(path()) << text;
    EXPECT_EQ(chmod(path().c_str(), mode), 0);
  }
  static std::string refusal(const std::string& path) {
    try {
      return "read: " + tcp::read_private(path);
    } catch (const Error& error) {
      return error.what();
    }
  }
  static std::string content(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

 private:
  test::Scratch folder_;
};

void expect_word(const std::string& text, const std::string& word) {
  EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

TEST_F(PrivateFile, OnlyItsOwnerReadsAndWritesIt) {
  for (const mode_t mask : {0000, 0022, 0777}) {
    const mode_t before = umask(mask);
    tcp::write_private(path(), "a secret");
    umask(before);
    struct stat found {};
    ASSERT_EQ(stat(path().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0600u);
    EXPECT_EQ(tcp::read_private(path()), "a secret");
  }
}

TEST_F(PrivateFile, FilesThatOthersCanReachAreRefused) {
  for (const mode_t mode : {0644, 0640, 0602, 0620, 0666, 0601}) {
    put("a secret", mode);
    expect_word(refusal(path()), fmt::format("has mode {:04o}", static_cast<unsigned>(mode)));
    expect_word(refusal(path()), "give it mode 0600");
  }
  for (const mode_t mode : {0600, 0400}) {
    put("a secret", mode);
    EXPECT_EQ(refusal(path()), "read: a secret");
    fs::remove(path());
  }
}

TEST_F(PrivateFile, FilesOfOtherUsersAreRefused) {
  put("a secret", 0600);
  if (chown(path().c_str(), 12345, static_cast<gid_t>(-1)) != 0)
    GTEST_SKIP() << "only root can make a file of another user";
  expect_word(refusal(path()), "belongs to user 12345");
}

TEST_F(PrivateFile, WhatIsNoFileIsRefusedAndHoldsNobodyUp) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  expect_word(refusal(path("pipe")), "is no file");
  fs::create_directory(path("folder"));
  expect_word(refusal(path("folder")), "is no file");
  expect_word(refusal(path("none")), "does not exist yet");
  put(std::string((1 << 20) + 1, 'x'), 0600);
  expect_word(refusal(path()), "that is no secret");
}

TEST_F(PrivateFile, APlantedLinkIsReplacedAndNotFollowed) {
  std::ofstream(path("victim")) << "of somebody";
  fs::create_symlink(path("victim"), path());
  tcp::write_private(path(), "a secret");
  EXPECT_EQ(content(path("victim")), "of somebody");
  EXPECT_FALSE(fs::is_symlink(path()));
  EXPECT_EQ(tcp::read_private(path()), "a secret");
}

ExitCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::done;
}

TEST_F(PrivateFile, AWrongNameIsTheUsersAndFailingStorageIsNot) {
  const auto reading = [](const std::string& at) {
    return code_of([&] { tcp::read_private(at); });
  };
  const auto writing = [](const std::string& at) {
    return code_of([&] { tcp::write_private(at, "x"); });
  };
  fs::create_symlink("circle", path("circle"));
  put("a secret", 0644);
  for (const std::string& wrong : {path(), path("none"), path("secret/file"), path("no/folder")})
    EXPECT_EQ(reading(wrong), ExitCode::usage) << wrong;
  EXPECT_EQ(reading(path("circle")), ExitCode::failure);
  EXPECT_EQ(writing(path("no/folder")), ExitCode::usage);
  EXPECT_EQ(writing(path("circle/file")), ExitCode::failure);
  const SizeLimit full(0);
  EXPECT_EQ(writing(path("new")), ExitCode::failure);
  EXPECT_FALSE(fs::exists(path("new")));
}

TEST_F(PrivateFile, NothingIsLeftWhereItCannotBeWritten) {
  fs::create_directory(path());
  EXPECT_THROW(tcp::write_private(path(), "a secret"), Error);
  EXPECT_THROW(tcp::write_private(path("no/folder"), "a secret"), Error);
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path()).parent_path()), {}), 1);
}

}  // namespace
}  // namespace skein
