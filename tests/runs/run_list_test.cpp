#include "skein/runs/run_list.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "runs/run_fixture.h"

namespace skein::runs {
namespace {

using test::expect_error;
using test::run_folder;
using test::Scratch;

TEST(RunList, FindsRunsBelowAFolder) {
  const Scratch scratch;
  run_folder(scratch, "all/a", "");
  run_folder(scratch, "all/group/b", "{\"step\":3,\"loss\":1}\n");
  run_folder(scratch, "all/a/checkpoints/x", "");
  run_folder(scratch, "outside/c", "");
  std::filesystem::create_directory_symlink(scratch.file("outside"), scratch.file("all/link"));
  std::filesystem::create_directories(scratch.file("all/odd/metrics.jsonl"));
  RunList list(scratch.file("all"));
  EXPECT_EQ(list.look().size(), 2u);
  ASSERT_NE(list.find("group/b"), nullptr);
  EXPECT_EQ(list.find("group/b")->step, 3);
  EXPECT_EQ(list.find("a")->step, -1);
  for (const char* other : {"link/c", "../outside/c", "group", "odd", ""})
    EXPECT_EQ(list.find(other), nullptr) << other;
  EXPECT_FALSE(list.cut());
  RunList one(scratch.file("all/a"));
  ASSERT_EQ(one.look().size(), 1u);
  EXPECT_EQ(one.look()[0].name, ".");
  expect_error(ExitCode::usage, {"nowhere is no folder"}, [] { RunList("nowhere"); });
}

TEST(RunList, SaysWhatTheLastLinesSay) {
  const Scratch scratch;
  std::string lines;
  for (int step = 1; step <= 2000; ++step)
    lines += "{\"step\":" + std::to_string(step) + ",\"loss\":" + std::to_string(step) + "}\n";
  const std::string folder = run_folder(
      scratch, "all/run",
      lines + "{\"step\":2000,\"validation_loss\":null,\"text\":\"x\"}\n{]\n{\"step\":2001,\"lo");
  RunList list(scratch.file("all"));
  const RunGlance first = list.look().at(0);
  EXPECT_EQ(first.step, 2000);
  ASSERT_EQ(first.last.size(), 2u);
  EXPECT_TRUE(std::isnan(first.last[0].second));
  EXPECT_EQ(value_named(first.last, "loss"), 2000);
  std::ofstream(folder + "/metrics.jsonl", std::ios::app) << "ss\":7}\n";
  EXPECT_EQ(value_named(list.look().at(0).last, "loss"), 7);
  run_folder(scratch, "all/other", "");
  EXPECT_EQ(list.look().size(), 2u);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(list.look().size(), 1u);
  EXPECT_EQ(list.look()[0].name, "other");
}

}  // namespace
}  // namespace skein::runs
