#include "skein/train/preflight/doctor.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/core/files/private_folder.h"

namespace skein::train {
namespace {

const Finding* about(const std::vector<Finding>& findings, const std::string& what) {
  for (const Finding& finding : findings)
    if (finding.about == what) return &finding;
  return nullptr;
}

TEST(Doctor, LooksAtThisHost) {
  const std::vector<Finding> found = examine_host();
  for (const char* what : {"processors", "products", "memory", "/dev/shm", "open files"})
    EXPECT_TRUE(about(found, what)) << what;
  EXPECT_EQ(about(found, "processors")->grade, Grade::good) << findings_text(found);
}

TEST(Doctor, LeavesAFolderAsItWas) {
  const PrivateFolder folder("skein-doctor");
  const std::vector<Finding> found = examine_folder(folder.path() + "/not/yet/there");
  EXPECT_NE(worst_of(found), Grade::bad) << findings_text(found);
  EXPECT_NE(about(found, "space")->text.find(folder.path() + " ("), std::string::npos);
  EXPECT_EQ(about(found, "files")->text.find("rename, flock, fsync and mmap work"), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Doctor, FindsAFolderThatTakesNothing) {
  const std::vector<Finding> found = examine_folder("/proc/runs");
  EXPECT_EQ(worst_of(found), Grade::bad);
  EXPECT_NE(about(found, "files")->text.find("/proc/.skein-doctor-"), std::string::npos)
      << findings_text(found);
  EXPECT_NE(about(found, "files")->advice.find("run.dir"), std::string::npos);
}

TEST(Doctor, OneRankHasNothingToExchange) {
  const auto world = single_rank();
  const std::vector<Finding> found = examine_ranks(*world, 0.1, "runs");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text.find("no launcher, 1 rank"), 0u) << found[0].text;
}

TEST(Doctor, WritesALineAFindingAndOneItsAdvice) {
  EXPECT_EQ(
      findings_text({{Grade::good, "memory", "8 GiB", ""}, {Grade::bad, "files", "no", "do"}}),
      "good  memory        8 GiB\n"
      "bad   files         no\n"
      "                    -> do\n");
  EXPECT_EQ(worst_of({{Grade::note, "", "", ""}, {}}), Grade::note);
}

}  // namespace
}  // namespace skein::train
