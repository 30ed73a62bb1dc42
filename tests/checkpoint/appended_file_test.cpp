#include "skein/checkpoint/appended_file.h"

#include <algorithm>

#include "scenario.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

class AppendedFiles : public testing::Test {
 protected:
  test::Scratch directory_;
  std::string path_ = directory_.file("lines");
};

TEST_F(AppendedFiles, OfASupersededProcessLeadNowhere) {
  write(path_, "1\n2\nhalf");
  AppendedFile older, newer;
  older.cut(path_, 4);
  older.add("3\n");
  newer.cut(path_, 6);
  older.add("old\n");
  newer.add("4\n");
  EXPECT_EQ(test::bytes_of_file(path_), "1\n2\n3\n4\n");
  AppendedFile newest;
  newest.begin(path_, "5\n");
  newer.add("old\n");
  EXPECT_EQ(test::bytes_of_file(path_), "5\n");
  EXPECT_EQ(names_in(directory_.path()), std::vector<std::string>{"lines"});
  newest.close();
  EXPECT_FALSE(newest.is_open());
}

// An older start that stood still just before it put its file there.
TEST_F(AppendedFiles, TakeTheirNameBack) {
  AppendedFile file;
  file.begin(path_, "1\n");
  file.add("2\n");
  write(directory_.file("late"), "0\n");
  std::filesystem::rename(directory_.file("late"), path_);
  file.add("3\n");
  EXPECT_EQ(test::bytes_of_file(path_), "0\n");
  file.sync(nullptr);
  file.add("4\n");
  EXPECT_EQ(test::bytes_of_file(path_), "1\n2\n3\n4\n");
  std::filesystem::remove(path_);
  file.sync(nullptr);
  EXPECT_EQ(test::bytes_of_file(path_), "1\n2\n3\n4\n");
  EXPECT_EQ(names_in(directory_.path()), std::vector<std::string>{"lines"});
}

TEST_F(AppendedFiles, OfASupersededProcessTakeNoNameBack) {
  const auto alone = single_rank();
  const std::string run = directory_.file("run");
  const RunClaim older(run, {}, *alone);
  AppendedFile file, survivor;
  file.begin(path_, "old\n");
  const RunClaim newer(run, ClaimOptions{.run = "", .takeover = ClaimOptions::Time(0)}, *alone);
  EXPECT_TRUE(older.superseded());
  EXPECT_FALSE(newer.superseded());
  survivor.begin(path_, "new\n");
  file.sync(&older);
  EXPECT_EQ(test::bytes_of_file(path_), "new\n");
  file.begin(path_, "old\n");
  survivor.sync(&newer);
  EXPECT_EQ(test::bytes_of_file(path_), "new\n");
}

TEST_F(AppendedFiles, ErrorsNamePathAndReason) {
  AppendedFile file;
  expect_error(ExitCode::failure, [&] { file.cut(path_, 1); }, {path_, "No such file"});
  expect_error(ExitCode::failure, [&] { file.begin(directory_.file("no/lines"), ""); },
               {"no/lines", "No such file"});
  EXPECT_FALSE(file.is_open());
  write(path_, "1\n");
  expect_error(ExitCode::failure, [&] { file.cut(path_, 4); }, {path_, "ends at byte 2 of 4"});
  EXPECT_EQ(names_in(directory_.path()), std::vector<std::string>{"lines"});
}

TEST(Files, LeftByReplacementsAreRemoved) {
  const test::Scratch directory;
  const std::string path = directory.file("file");
  replace_file(path, "text");
  for (const char* name :
       {"file.0123456789abcdef.new", "file.0123.new", "file.new", "other.0123456789abcdef.new"})
    write(directory.file(name), "mine");
  remove_unfinished(path);
  auto names = names_in(directory.path());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"file", "file.0123.new", "file.new",
                                             "other.0123456789abcdef.new"}));
}

}  // namespace
}  // namespace skein::checkpoint
