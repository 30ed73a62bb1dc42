// Storage that does not answer: a symbolic link to itself instead of a file or folder gives ELOOP,
// whoever asks.
#include <atomic>
#include <chrono>
#include <sstream>

#include "skein/checkpoint/directory.h"
#include "skein/checkpoint/inspect.h"
#include "skein/core/files/files.h"
#include "skein/core/files/retry.h"

#include "scenario.h"
#include "support/retry_waits.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

constexpr char kLoop[] = "Too many levels of symbolic links";

// What stood at a path is elsewhere, and no system call reaches it by its name, until heal().
class Loop {
 public:
  explicit Loop(const std::string& path) : path_(path) {
    if (std::filesystem::exists(path_)) std::filesystem::rename(path_, path_ + ".away");
    std::filesystem::create_symlink(std::filesystem::path(path_).filename(), path_);
  }
  ~Loop() { heal(); }
  void heal() {
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path_))) return;
    std::filesystem::remove(path_);
    if (std::filesystem::exists(path_ + ".away")) std::filesystem::rename(path_ + ".away", path_);
  }

 private:
  std::string path_;
};

class Unreadable : public testing::Test {
 protected:
  Unreadable()
      : older_(save(run(), cases()[1], 10, 1)),
        newer_(save(run(), cases()[1], 20, 2)),
        alone_(single_rank()) {}

  std::string run() const { return directory_.file("run"); }
  // A start ends with code 1 after three more attempts within 10 s, names the path and the cause,
  // and takes nothing else; as soon as the storage answers, it goes on as if nothing had been.
  void expect_refused(const std::string& path, const std::vector<std::string>& words) {
    SCOPED_TRACE(path);
    Loop loop(path);
    {
      const RetryWaits waits;
      expect_error(ExitCode::failure, [&] { find_checkpoint(run(), *alone_); },
                   {path, kLoop, "more attempts"});
      expect_error(
          ExitCode::failure, [&] { find_checkpoint(run(), *alone_); }, words);
      EXPECT_EQ(waits.count(), 6u);
      EXPECT_LE(waits.in_all(), std::chrono::seconds(20));
    }
    const RetryWaits waits([&] { loop.heal(); });
    EXPECT_EQ(find_checkpoint(run(), *alone_)->step, 20);
    EXPECT_EQ(waits.count(), 1u);
  }

  test::Scratch directory_;
  std::string older_, newer_;
  std::unique_ptr<Group> alone_;
};

TEST_F(Unreadable, NothingCountsAsMissing) {
  expect_refused(run(), {"cannot look at", "See whether that storage is mounted"});
  expect_refused(newer_, {"cannot look at"});
  expect_refused(older_, {"cannot look at"});
}

TEST_F(Unreadable, NoOlderCheckpointIsTakenForIt) {
  for (const char* name : {"manifest.json", "rank-00000.h5", "rank-00001.h5"})
    expect_refused(newer_ + "/" + name,
                   {newer_ + "/" + name, "See whether that storage is mounted"});
}

TEST_F(Unreadable, AGenerationThatMayFenceIsNotIgnored) {
  expect_refused(run() + "/generation-000002", {"cannot look at"});
  const Loop loop(run() + "/generation-000002");
  const RetryWaits waits;
  expect_error(ExitCode::failure, [&] { CheckpointStore(run(), 2, *alone_); },
               {"generation-000002", kLoop});
}

TEST_F(Unreadable, ItIsNoDamage) {
  const Loop loop(newer_ + "/manifest.json");
  const RetryWaits waits;
  expect_error(ExitCode::failure, [&] { list_checkpoints(run()); }, {newer_, kLoop});
  std::ostringstream out;
  expect_error(ExitCode::failure, [&] { inspect({"verify", newer_}, out); }, {newer_, kLoop});
}

TEST_F(Unreadable, OneRankIsEnoughToEndAll) {
  std::atomic<int> refused{0};
  const Loop loop(newer_ + "/rank-00001.h5");
  write(newer_ + "/rank-00000.h5", "damaged");
  const RetryWaits waits;
  run_ranks(2, [&](Group& world) {
    expect_error(ExitCode::failure, [&] { find_checkpoint(run(), world); },
                 {"rank 0: ", "it was cut", "rank 1: ", kLoop});
    ++refused;
  });
  EXPECT_EQ(refused, 2);
}

TEST_F(Unreadable, LoadingTriesAgain) {
  const auto info = find_checkpoint(run(), *alone_);
  const State state = empty_state(rows(), 1, 0);
  Loop loop(newer_ + "/rank-00001.h5");
  {
    const RetryWaits waits;
    expect_error(ExitCode::failure, [&] { load_checkpoint(*info, state.pieces, true, *alone_); },
                 {kLoop});
  }
  const RetryWaits waits([&] { loop.heal(); });
  load_checkpoint(*info, state.pieces, true, *alone_);
  EXPECT_EQ(state.memory, filled_state(rows(), 1, 0, 2).memory);
}

TEST_F(Unreadable, ALinkToWhatIsNotMountedIsNoEmptyRun) {
  const std::string link = directory_.file("link");
  std::filesystem::create_symlink("run", link);
  EXPECT_EQ(find_checkpoint(link, *alone_)->step, 20);
  std::filesystem::remove(link);
  std::filesystem::create_symlink("elsewhere", link);
  expect_error(ExitCode::failure, [&] { find_checkpoint(link, *alone_); },
               {link, "a symbolic link to nothing"});
}

TEST(Retries, EndAfterTheThirdAndNeverRepeatOtherErrors) {
  const RetryWaits waits;
  int calls = 0;
  const auto failing = [&]() -> int {
    ++calls;
    fail_system(EIO, "cannot read {}", "there");
  };
  // An outer retry does not multiply an inner one.
  expect_error(
      ExitCode::failure, [&] { retried([&] { return retried(failing); }); },
      {"cannot read there: Input/output error; 3 more attempts within 9 seconds failed, too"});
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(waits.in_all(), std::chrono::seconds(9));
  calls = 0;
  const auto refusing = [&] {
    ++calls;
    fail_usage("damaged");
  };
  expect_error(ExitCode::usage, [&] { retried(refusing); }, {"damaged"});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(retried([] { return 7; }), 7);
}

TEST(Superseded, CommitsAloneAreNoEmptyRun) {
  const test::Scratch directory, other;
  const auto alone = single_rank();
  const std::string late = save(other.path(), cases()[0], 40, 1);
  start_generation(directory.path(), 1);
  start_generation(directory.path(), 1);
  EXPECT_FALSE(find_checkpoint(directory.path(), *alone).has_value());
  std::filesystem::copy(late, directory.file("step-00000040.g000001"));
  EXPECT_TRUE(committed_checkpoints(directory.path()).empty());
  expect_error(ExitCode::usage, [&] { find_checkpoint(directory.path(), *alone); },
               {"none of the 1 checkpoints", "step-00000040.g000001", "superseded"});
}

}  // namespace
}  // namespace skein::checkpoint
