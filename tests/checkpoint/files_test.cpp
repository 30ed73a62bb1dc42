#include "skein/core/files/files.h"

#include <sys/stat.h>

#include "skein/checkpoint/agree.h"
#include "skein/core/strings.h"

#include "scenario.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

TEST(Files, AreNeverOverwritten) {
  const test::Scratch directory;
  const std::string path = directory.file("file");
  write_new_file(path, std::string("first"));
  EXPECT_FALSE(write_exclusive(path, std::string("second")));
  expect_error(ExitCode::failure, [&] { write_new_file(path, std::string("second")); },
               {path, "exists"});
  EXPECT_EQ(read_text(path), "first");
}

TEST(Files, ErrorsNamePathAndReason) {
  const test::Scratch directory;
  const std::string missing = directory.file("missing/file");
  expect_error(ExitCode::usage, [&] { read_text(missing); }, {missing, "No such file"});
  expect_error(ExitCode::failure, [&] { write_new_file(missing, std::string("x")); },
               {missing, "No such file"});
  expect_error(ExitCode::usage, [&] { read_text(directory.path()); }, {"regular file"});
  expect_error(ExitCode::failure, [&] { rename_path(missing, directory.file("x")); },
               {missing, "No such file"});
  expect_error(ExitCode::failure, [&] { free_space(missing); }, {missing});
}

TEST(Files, APipeDoesNotHang) {
  const test::Scratch directory;
  ASSERT_EQ(::mkfifo(directory.file("pipe").c_str(), 0600), 0);
  expect_error(ExitCode::usage, [&] { read_text(directory.file("pipe")); },
               {"pipe", "regular file"});
}

TEST(Files, OnlyFilesAreReplaced) {
  const test::Scratch directory;
  const std::string path = directory.file("file"), link = directory.file("link"),
                    pipe = directory.file("pipe");
  replace_file(path, "first");
  std::filesystem::create_symlink("file", link);
  replace_file(link, "second");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_text(path), "second");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& taken : {pipe, directory.path(), std::string("/dev/null")})
    expect_error(ExitCode::usage, [&] { replace_file(taken, "third"); },
                 {taken, "which no file may take the place of"});
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(Files, AShortReadIsAnError) {
  const test::Scratch directory;
  write(directory.file("file"), "abc");
  FileReader reader(directory.file("file"));
  std::byte out[8];
  expect_error(ExitCode::usage, [&] { reader.read(out, 5); }, {"2 bytes early"});
}

TEST(Files, DirectoriesAreMadeWithTheirParents) {
  const test::Scratch directory;
  EXPECT_EQ(make_directories(directory.file("a/b/c/")), 3);
  EXPECT_TRUE(std::filesystem::is_directory(directory.file("a/b/c")));
  EXPECT_EQ(make_directories(directory.file("a/b")), 0);
  EXPECT_FALSE(make_new_directory(directory.file("a")));
  EXPECT_TRUE(remove_tree(directory.file("a")));
  EXPECT_FALSE(std::filesystem::exists(directory.file("a")));
}

TEST(BytesBuffer, GrowsWithZerosAndKeepsValues) {
  Bytes bytes(4);
  bytes.data()[3] = std::byte{9};
  bytes.resize(2);
  bytes.resize(10);
  EXPECT_EQ(bytes.data()[3], std::byte{0});
  bytes.data()[1] = std::byte{7};
  bytes.resize(1000);
  EXPECT_EQ(bytes.data()[1], std::byte{7});
  EXPECT_EQ(bytes.data()[999], std::byte{0});
}

TEST(Agree, EveryRankGetsTheSameError) {
  std::atomic<int> failures{0};
  run_ranks(4, [&](Group& world) {
    agree(world, [] {});
    expect_error(ExitCode::failure,
                 [&] {
                   agree(world, [&] {
                     if (world.rank() == 1) fail_usage("too large");
                     if (world.rank() == 2) throw std::runtime_error("broken");
                     if (world.rank() == 3) fail_usage("too large");
                   });
                 },
                 {"rank 1 and 1 more: too large", "rank 2: broken"});
    expect_error(ExitCode::usage,
                 [&] {
                   agree(world, [&] {
                     if (world.rank() > 1) fail_usage("too large");
                   });
                 },
                 {"rank 2 and 1 more: too large"});
    expect_error(ExitCode::failure,
                 [&] { from_root(world, []() -> std::string { fail("no disk"); }); }, {"no disk"});
    EXPECT_EQ(from_root(world, [] { return "an answer"; }), "an answer");
    ++failures;
  });
  EXPECT_EQ(failures, 4);
}

}  // namespace
}  // namespace skein::checkpoint
