// What a run's folder keeps, and when a run may begin in one.
#include "skein/train/run_folder.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <regex>
#include <sstream>
#include <sys/syscall.h>

#include "skein/core/log.h"

#include "support/event_files.h"
#include "support/expect_error.h"
#include "support/retry_waits.h"
#include "support/size_limit.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

// The paths that were made durable, in order, while it lives: fsync() of this program tells it.
class DurablePaths {
 public:
  DurablePaths() { recording() = this; }
  ~DurablePaths() { recording() = nullptr; }
  static DurablePaths*& recording() {
    static DurablePaths* current = nullptr;
    return current;
  }
  void add(int fd) {
    std::error_code error;
    const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), error);
    const std::lock_guard lock(mutex_);
    paths_.push_back(path.string());
  }
  // Where the first path that ends so stands; its size where there is none.
  size_t first(const std::string& end) const {
    const auto found = std::find_if(paths_.begin(), paths_.end(),
                                    [&](const std::string& path) { return path.ends_with(end); });
    return static_cast<size_t>(found - paths_.begin());
  }
  size_t size() const { return paths_.size(); }

 private:
  std::mutex mutex_;
  std::vector<std::string> paths_;
};

}  // namespace
}  // namespace skein::train

// Instead of the C library's, for this whole program.
extern "C" int fsync(int fd) {
  if (auto* paths = skein::train::DurablePaths::recording()) paths->add(fd);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace skein::train {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class RunFolders : public testing::Test {
 protected:
  void SetUp() override { write_small_store(folder_.file("train.h5")); }

  PretrainConfig config() const {
    PretrainConfig c = small_config(folder_.file("train.h5"));
    c.train.steps = 4;
    c.lr.warmup = 1;
    c.lr.decay_end = 4;
    c.checkpoint.every = 2;
    return c;
  }
  std::string at(const std::string& name) const { return folder_.file("run/" + name); }
  std::string error_of(const PretrainConfig& c, ExitCode code) const {
    return training_error(c, 2, folder_, "run", code);
  }
  // Every shard of rank 0 is cut.
  void damage_all() const {
    for (const checkpoint::CheckpointInfo& info : checkpoint::list_checkpoints(folder_.file("run")))
      std::filesystem::resize_file(info.path + "/rank-00000.h5", 100);
  }

  test::Scratch folder_;
};

// A link to itself instead of what a run needs is an error of storage (ELOOP), whoever looks.
TEST_F(RunFolders, WhatCannotBeReadNeverBeginsARunAnew) {
  train(config(), 2, folder_, "run");
  const std::string metrics = text_of(at("metrics.jsonl"));
  PretrainConfig longer = config();
  longer.train.steps = 6;
  longer.run.restart = true;  // which is for damage
  for (const std::string name : {"checkpoints", "metrics.jsonl"}) {
    std::filesystem::rename(at(name), at("away"));
    std::filesystem::create_symlink(name, at(name));
    {
      const RetryWaits waits;
      test::expect_words(
          error_of(longer, ExitCode::failure),
          {at(name), "Too many levels of symbolic links", "3 more attempts", "then start again"});
      EXPECT_EQ(waits.count(), 3u) << name;
    }
    std::filesystem::remove(at(name));
    std::filesystem::rename(at("away"), at(name));
    EXPECT_EQ(text_of(at("metrics.jsonl")), metrics) << name;
    EXPECT_EQ(checkpoint::list_checkpoints(folder_.file("run")).size(), 2u) << name;
  }
  EXPECT_EQ(train(longer, 2, folder_, "run").losses.size(), 2u);
}

TEST_F(RunFolders, WithCommitsButNoneToUseBeginAnewOnlyWhenTold) {
  const std::vector<double> all = train(config(), 2, folder_, "run").losses;
  damage_all();
  const std::string metrics = text_of(at("metrics.jsonl"));
  PretrainConfig c = config();
  test::expect_words(error_of(c, ExitCode::usage), {"none of the 2 checkpoints", "rank-00000.h5",
                                                    "it was cut", "Or give --run.restart"});
  EXPECT_EQ(text_of(at("metrics.jsonl")), metrics);
  c.run.restart = true;
  c.train.steps = 2;
  c.checkpoint.keep = 1;
  EXPECT_EQ(train(c, 2, folder_, "run").losses, std::vector<double>(all.begin(), all.begin() + 2));
  EXPECT_EQ(checkpoint::list_checkpoints(folder_.file("run")).size(), 1u)
      << "those that were damaged are gone";
  // The same command line goes on from what it has made.
  c.train.steps = 4;
  EXPECT_EQ(train(c, 2, folder_, "run").losses, std::vector<double>(all.begin() + 2, all.end()));
}

// Without waiting for an older start that lives, which goes on.
TEST_F(RunFolders, OptionsAreRefusedBeforeTheClaim) {
  const auto alone = single_rank();
  RunConfig run = config().run;
  run.dir = folder_.file("run");
  const auto older = RunFolder::claim(run, 0, *alone);
  older->settle(*alone);
  const auto refused = [&](const std::function<void(PretrainConfig&)>& change,
                           const std::string& word) {
    PretrainConfig c = config();
    c.run.takeover = 2;
    change(c);
    testing::internal::CaptureStderr();
    test::expect_words(error_of(c, ExitCode::usage), {word});
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("seems to be at work"), std::string::npos)
        << word;
  };
  refused([](PretrainConfig& c) { c.train.global_batch = 9; },
          "train.global_batch=9 does not divide");
  refused([](PretrainConfig& c) { c.train.micro_batch = 3; }, "train.micro_batch=3 must divide");
  refused([](PretrainConfig& c) { c.parallel.pipeline = 3; }, "needs 3 ranks, but this job has 2");
  refused([](PretrainConfig& c) { c.checkpoint.keep = 0; }, "checkpoint.keep=0 at least 1");
}

TEST_F(RunFolders, ARestartOfAFinishedRunAppendsNothing) {
  PretrainConfig c = config();
  c.data.validation = c.data.train;
  c.validation.eval.windows = 8;
  train(c, 1, folder_, "run");
  const std::string before = text_of(at("metrics.jsonl"));
  test::expect_words(before, {"\"step\":4,\"validation_loss\""});
  train(c, 1, folder_, "run");
  EXPECT_EQ(text_of(at("metrics.jsonl")), before);
  // Another evaluation of the same step is another line.
  c.validation.eval.windows = 4;
  train(c, 1, folder_, "run");
  EXPECT_EQ(text_of(at("metrics.jsonl")).substr(0, before.size()), before);
  EXPECT_GT(text_of(at("metrics.jsonl")).size(), before.size());
}

// The lines of the steps that a commit counts as done, and the name of a file that is new.
TEST_F(RunFolders, HistoryIsDurableBeforeTheCommit) {
  PretrainConfig c = config();
  c.run.tensorboard = true;
  c.checkpoint.every = 0;
  const DurablePaths paths;
  train(c, 1, folder_, "run");
  const size_t manifest = paths.first("/manifest.json");
  ASSERT_LT(manifest, paths.size());
  EXPECT_LT(paths.first("/run"), manifest);
  EXPECT_LT(paths.first("/run/metrics.jsonl"), manifest);
  EXPECT_LT(paths.first("/run/tensorboard"), manifest);
  EXPECT_LT(
      paths.first(
          "/" +
          std::filesystem::directory_iterator(at("tensorboard/train"))->path().filename().string()),
      manifest);
}

TEST_F(RunFolders, AFullDiskIsNoMistakeOfTheUser) {
  const auto alone = single_rank();
  RunFolder folder(folder_.file("run"), false);
  std::string said;
  {
    const SizeLimit limit(4);
    try {
      folder.begin("[train]\nsteps = 4\n", 0, *alone);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::failure);
      said = error.what();
    }
  }
  test::expect_words(said, {"run.dir=" + folder_.file("run"), "config.ini", "File too large",
                            "free some space there"});
}

TEST_F(RunFolders, LinesOutliveADiskThatIsFullForAMoment) {
  const auto alone = single_rank();
  RunFolder folder(folder_.file("run"), false);
  folder.begin("", 0, *alone);
  const std::string first = "{\"step\":1,\"loss\":0.5}\n", second = "{\"step\":2,\"loss\":0.25}\n";
  folder.record(1, {{"loss", 0.5}});
  {
    // Half of the second line fits.
    const SizeLimit limit(first.size() + 5);
    folder.record(2, {{"loss", 0.25}});
    EXPECT_EQ(text_of(at("metrics.jsonl")), first);
    EXPECT_THROW(folder.sync(nullptr), SystemError) << "a commit would say that the step is done";
  }
  folder.record(3, {{"loss", 1}});
  EXPECT_EQ(text_of(at("metrics.jsonl")), first + second + "{\"step\":3,\"loss\":1}\n");
  folder.sync(nullptr);
}

TEST_F(RunFolders, KeepsWholeLinesOfStepsThatAreDone) {
  const auto alone = single_rank();
  std::filesystem::create_directories(folder_.file("run"));
  std::ofstream(at("metrics.jsonl"))
      << "{\"step\":1,\"loss\":2}\n{\"step\":\"two\"}\n[3]\n{\"step\":2,\"loss\":1}\n"
         "{\"step\":3,\"loss\":1}\n{\"step\":2,\"lo";
  RunFolder folder(folder_.file("run"), false);
  folder.begin("", 2, *alone);
  folder.record(2, {{"loss", 1}});
  folder.record(3, {{"loss", 1}});
  EXPECT_EQ(text_of(at("metrics.jsonl")),
            "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":1}\n{\"step\":3,\"loss\":1}\n");
}

// Which could end an older start.
TEST_F(RunFolders, OptionsAreRefusedBeforeTheRunIsClaimed) {
  std::ofstream(folder_.file("run")) << "no folder";
  PretrainConfig c = config();
  c.validation.patience = 3;
  test::expect_words(error_of(c, ExitCode::usage), {"validation.patience=3 needs validation data"});
  c.lr.warmup = -5;
  test::expect_words(error_of(c, ExitCode::usage), {"warmup"});
}

// As a start does that stood still while another one took the run over and began.
TEST_F(RunFolders, ALateOlderStartTakesNoLineAway) {
  const auto alone = single_rank();
  std::filesystem::create_directories(folder_.file("run"));
  for (const char* left : {"config.ini", "metrics.jsonl"})
    std::ofstream(at(left) + std::string(".0123456789abcdef.new")) << "of a killed process";
  RunFolder folder(folder_.file("run"), false), older(folder_.file("run"), false);
  folder.begin("", 0, *alone);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.file("run")), {}), 3);
  folder.record(1, {{"loss", 2}});
  older.begin("", 0, *alone);
  folder.record(2, {{"loss", 1}});
  older.record(1, {{"loss", 3}});
  folder.sync(nullptr);
  older.record(2, {{"loss", 3}});
  folder.record(3, {{"loss", 1}});
  EXPECT_EQ(text_of(at("metrics.jsonl")),
            "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":1}\n{\"step\":3,\"loss\":1}\n");
}

// A resumed run makes steps again, and one that is rolled back does so within a session.
TEST_F(RunFolders, CurvesOfTensorBoardNeverRunBackwards) {
  const auto alone = single_rank();
  const auto steps = [](RunFolder& folder, int64_t first, int64_t last, double value) {
    for (int64_t step = first; step <= last; ++step) {
      folder.record(step, {{"loss", value}, {"grad_norm", 1}});
      if (step % 2 == 0) folder.record(step, {{"validation_loss", value}});
    }
  };
  {
    RunFolder first(folder_.file("run"), true);
    first.begin("[train]\nsteps = 9\n", 0, *alone);
    steps(first, 1, 6, 1);
  }
  {
    RunFolder second(folder_.file("run"), true);
    second.begin("[train]\nsteps = 9\n", 3, *alone);
    steps(second, 4, 8, 2);
    second.cut(5, *alone);
    steps(second, 6, 6, 3);
  }
  const auto train = test::event_curves(at("tensorboard/train"));
  const std::vector<std::pair<int64_t, float>> loss{{1, 1}, {2, 1}, {3, 1}, {4, 2}, {5, 2}, {6, 3}};
  EXPECT_EQ(train.at("loss/loss"), loss);
  EXPECT_EQ(train.count("learning/grad_norm"), 1u);
  const auto validation = test::event_curves(at("tensorboard/validation"));
  const std::vector<std::pair<int64_t, float>> judged{{2, 1}, {4, 2}, {6, 3}};
  EXPECT_EQ(validation.at("loss/loss"), judged);
}

TEST_F(RunFolders, LogHoldsAllStartsWithDates) {
  const auto alone = single_rank();
  for (const char* which : {"first", "second"}) {
    RunFolder folder(folder_.file("run"), false);
    log::info("the {} start finds its data", which);
    folder.begin("[train]\nsteps = 4\n", 0, *alone);
    log::info("the {} start", which);
  }
  log::info("behind the run");
  const std::string date = "20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} ";
  // What this process logged before it had a run is in its log, too.
  const size_t date_length = std::string("2026-01-31 00:00:00 ").size();
  const std::string whole = text_of(at("run.log")),
                    log = whole.substr(whole.find("the first start finds") - date_length);
  std::string all;
  for (const char* which : {"first", "second"})
    all += fmt::format("{}the {} start finds its data\n{}the {} start\n", date, which, date, which);
  EXPECT_TRUE(std::regex_match(log, std::regex(all))) << log;
  EXPECT_EQ(log.find("behind the run"), std::string::npos);
}

TEST_F(RunFolders, LogHoldsTheErrorThatEndsTheRun) {
  const auto alone = single_rank();
  try {
    RunFolder folder(folder_.file("run"), false);
    folder.begin("[train]\nsteps = 4\n", 0, *alone);
    fail("the disk is gone");
  } catch (const Error& error) {
    log::write(log::Level::error, error.what());
  }
  {
    RunFolder folder(folder_.file("next"), false);
    folder.begin("[train]\nsteps = 4\n", 0, *alone);
    log::info("the next run");
  }
  const std::string log = text_of(at("run.log"));
  EXPECT_NE(log.find("error: the disk is gone"), std::string::npos);
  EXPECT_EQ(log.find("the next run"), std::string::npos);
}

}  // namespace
}  // namespace skein::train
