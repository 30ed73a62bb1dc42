// Results have their name only once they are whole.
#include "skein/core/files/result_file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "skein/core/error.h"

#include "support/scratch.h"

namespace skein {
namespace {

namespace fs = std::filesystem;

class ResultFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  int entries() const { return folder_.entries(); }
  static std::string refused(const std::string& path) {
    return refusal_of([&] { const ResultFile file("x.output", path); });
  }

  test::Scratch folder_;
};

TEST_F(ResultFiles, AreThereOnceTheyAreWhole) {
  ResultFile file("x.output", path("a"));
  EXPECT_TRUE(file.rewritable());
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(path("a")));
  file.finish();
  EXPECT_EQ(test::bytes_of_file(path("a")), "one two");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(ResultFiles, StayAsTheyWereWhereTheirSuccessorIsNotFinished) {
  std::ofstream(path("a")) << "before";
  {
    ResultFile file("x.output", path("a"));
    file.write("half");
  }
  EXPECT_EQ(test::bytes_of_file(path("a")), "before");
  EXPECT_EQ(entries(), 1u);
  ResultFile file("x.output", path("a"));
  file.write("whole");
  file.finish();
  EXPECT_EQ(test::bytes_of_file(path("a")), "whole");
}

TEST_F(ResultFiles, TakeTheirBeginningAgain) {
  ResultFile file("x.output", path("a"));
  file.write("0 rows: ");
  file.write("a b");
  file.rewrite_begin("2");
  file.finish();
  EXPECT_EQ(test::bytes_of_file(path("a")), "2 rows: a b");
}

TEST_F(ResultFiles, AreWrittenIntoAPipeAsTheyCome) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = test::bytes_of_file(path("pipe")); });
  {
    ResultFile file("x.output", path("pipe"));
    EXPECT_FALSE(file.rewritable());
    file.write("some text");
    file.finish();
  }
  reader.join();
  EXPECT_EQ(read, "some text");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(ResultFiles, AreRefusedWhereTheyCannotBe) {
  EXPECT_EQ(refused(folder_.path()), "x.output=" + folder_.path() + " is a folder; give a file");
  EXPECT_EQ(refused(path("none/a")),
            "x.output=" + path("none/a") +
                " cannot be written; give a file in a folder that exists and may be written");
}

TEST_F(ResultFiles, WithoutANameGoToStdout) {
  testing::internal::CaptureStdout();
  ResultFile file("x.output", "");
  EXPECT_FALSE(file.rewritable());
  file.write("said");
  file.finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "said");
}

TEST_F(ResultFiles, OfAFolderAreListed) {
  ResultFolder made("x.output", path("a/b"));
  made.write("one", "1");
  made.write("two", "2");
  EXPECT_EQ(made.files(), (std::vector<std::string>{path("a/b/one"), path("a/b/two")}));
  EXPECT_EQ(test::bytes_of_file(path("a/b/two")), "2");
  for (const char* taken : {"a/b/one", "a/b/one/c"}) {
    try {
      make_result_folder("x.output", path(taken));
      ADD_FAILURE() << taken << " was made";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what()).find("x.output=" + path(taken) + " cannot be made"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace skein
