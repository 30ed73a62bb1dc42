#include "skein/train/preflight/doctor.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/core/files/private_folder.h"

#include "train/preflight/facts.h"

namespace skein::train {
namespace {

const Finding* about(const std::vector<Finding>& findings, const std::string& what) {
  for (const Finding& finding : findings)
    if (finding.about == what) return &finding;
  return nullptr;
}

TEST(Doctor, LooksAtThisHost) {
  const std::vector<Finding> found = examine_host();
  for (const char* what : {"processors", "products", "memory", "/dev/shm", "open files", "NCCL"})
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

GpusFacts with_gpu(int capability, const std::string& architectures) {
  return {true,
          {.newest = 13000, .built = 13000, .architectures = architectures},
          "NVRM 580",
          "2.28.9",
          {{"H200", {.free = 90, .total = 100}, capability}}};
}

void expect_finding(const GpusFacts& facts, const std::string& what, Grade grade,
                    const std::string& text, const std::string& advice) {
  const std::vector<Finding> found = judge_gpus(facts);
  const Finding* one = about(found, what);
  ASSERT_TRUE(one) << findings_text(found);
  EXPECT_EQ(one->grade, grade) << findings_text(found);
  EXPECT_NE(one->text.find(text), std::string::npos) << one->text;
  EXPECT_NE(one->advice.find(advice), std::string::npos) << one->advice;
  EXPECT_EQ(one->advice.empty(), grade == Grade::good) << one->advice;
}

TEST(Doctor, TellsWhyNoGpuCanBeUsed) {
  GpusFacts facts;
  expect_finding(facts, "GPUs", Grade::good, "none, and this build has no kernels", "");
  expect_finding(facts, "NCCL", Grade::good, "none in this build", "");
  facts.loaded = "NVRM 535";
  expect_finding(facts, "GPUs", Grade::note, "(NVRM 535), but this build has no kernels",
                 "launch/build cuda");
  expect_finding(facts, "NCCL", Grade::note, "none in this build", "launch/build cuda");
  facts.built_in = true;
  facts.nccl = "2.28.9";
  expect_finding(facts, "NCCL", Grade::good, "2.28.9", "");
  expect_finding(facts, "GPUs", Grade::note, "libcuda.so.1, is not found", "--gpus all");
  facts.driver = {.newest = 12020, .built = 13000, .error = "insufficient", .too_old = true};
  expect_finding(facts, "GPUs", Grade::note, "it runs CUDA up to 12.2, and this build has 13.0",
                 "install a newer driver");
  facts.loaded = "";
  facts.driver = {.newest = 13000, .built = 13000, .error = "no device is detected"};
  expect_finding(facts, "GPUs", Grade::note,
                 "there is a driver, but CUDA finds no device: no device is detected",
                 "CUDA_VISIBLE_DEVICES");
}

TEST(Doctor, KnowsForWhichGpusTheBuildHasKernels) {
  for (const auto& [capability, architectures] : {std::pair{90, "80-real,90-real"},
                                                  {89, "80-real"},
                                                  {121, "80-real,90-virtual"},
                                                  {100, "90"},
                                                  {90, "90a-real"},
                                                  {70, "native"}})
    expect_finding(with_gpu(capability, architectures), "GPU 0", Grade::good, "H200, 90 bytes free",
                   "");
  for (const auto& [capability, architectures] :
       {std::pair{90, "80-real"}, {80, "86-real,90-virtual"}, {103, "90a,100a-real"}})
    expect_finding(with_gpu(capability, architectures), "GPU 0", Grade::note,
                   std::string("for which this build has no kernels (") + architectures + ")",
                   fmt::format("-DCMAKE_CUDA_ARCHITECTURES={} ", capability));
  expect_finding(with_gpu(75, "80"), "GPU 0", Grade::note, "compute capability 7.5, for which",
                 "need 8.0: hide it");
  // What the driver would compile is of a newer CUDA than it knows.
  GpusFacts older = with_gpu(100, "90");
  older.driver.newest = 12080;
  expect_finding(older, "GPU 0", Grade::note, "compute capability 10.0, for which",
                 "parallel.device=cuda fails");
  GpusFacts taken = with_gpu(90, "90");
  taken.gpus[0].memory.free = 10;
  expect_finding(taken, "GPU 0", Grade::note, "10 bytes free", "another process");
}

TEST(Doctor, NotesClocksThatAreASecondApart) {
  const Finding near = judge_clocks({1000.25, 1000.0, 1000.99});
  EXPECT_EQ(near.grade, Grade::good);
  EXPECT_EQ(near.text, "those of all ranks are within 0.99 s");
  const Finding apart = judge_clocks({1000.0, 1001.5, 1000.0});
  EXPECT_EQ(apart.grade, Grade::note);
  EXPECT_EQ(apart.text, "those of all ranks are within 1.50 s");
  EXPECT_NE(apart.advice.find("NTP"), std::string::npos);
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
