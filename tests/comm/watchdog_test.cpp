// The watchdog over exchanges that a test lets end, fail or hang, on a clock that the test moves.
#include "skein/comm/watchdog.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

#include "support/scratch.h"
#include "watchdog_fixture.h"

namespace skein {
namespace {

class FakeQueue : public WatchedWork {
 public:
  bool passed(int64_t mark) override {
    ++asked;
    if (hang_when_asked.valid()) hang_when_asked.wait();
    return ended.contains(mark);
  }
  std::string error() override { return failure; }
  void abort(ExitCode code) override {
    ++aborts;
    aborted_with = code;
    if (hang_in_abort.valid()) hang_in_abort.wait();
    left_abort = true;
  }

  std::set<int64_t> ended;
  std::string failure;
  std::atomic<int> asked = 0;
  std::atomic<int> aborts = 0;
  ExitCode aborted_with = ExitCode::done;
  std::atomic<bool> left_abort = false;
  std::shared_future<void> hang_in_abort, hang_when_asked;
};

class Watching : public test::WatchdogTest {
 protected:
  FakeQueue queue_;
};

const Exchange kTensorSum{"all-reduce", "tensor", 4 << 20};

TEST_F(Watching, ALateExchangeEndsTheJobAndIsNamed) {
  Watchdog dog(settings());
  const auto watch = dog.watch(queue_, 1);
  {
    const WhereScope step = WhereScope::step(12), batch = WhereScope::micro_batch(3);
    std::string name = "block.4";
    const WhereScope block = WhereScope::part(name.c_str());
    watch->begin(0, kTensorSum, 7);
    name = "gone by now";
  }
  now_ = now_ + 60;
  dog.look();
  EXPECT_TRUE(said_.empty());
  now_ = now_ + 1;
  dog.look();
  expect_said({"rank 5 (host node3, GPU 1) has waited 61 s",
               "all-reduce of 4.0 MiB in the tensor group", "(step 12, micro-batch 3, block.4)",
               "raise parallel.timeout=60"});
  EXPECT_EQ(codes_, std::vector{ExitCode::watchdog});
  EXPECT_EQ(queue_.aborts, 1);
  EXPECT_EQ(queue_.aborted_with, ExitCode::watchdog);
  now_ = now_ + 100;
  dog.look();
  EXPECT_EQ(codes_.size(), 1u) << "a job ends once";
}

TEST_F(Watching, TheOldestIsNamedWithItsPeer) {
  Watchdog dog(settings());
  const auto watch = dog.watch(queue_, 3);
  watch->begin(2, {"send", "pipeline", 512, 2, true}, 1);
  now_ = now_ + 1;
  watch->begin(0, {"receive", "pipeline", 2048, 0}, 2);
  now_ = now_ + 70;
  dog.look();
  expect_said({"send of 512 bytes to rank 2 of the pipeline group (outside of steps)"});
  EXPECT_EQ((Exchange{"receive", "pipeline", 2048, 0}.str()),
            "receive of 2.0 KiB from rank 0 of the pipeline group");
}

TEST_F(Watching, WhatEndsInTimeIsForgotten) {
  Watchdog dog(settings());
  const auto watch = dog.watch(queue_, 1);
  for (int64_t mark = 0; mark < 1000; ++mark) {
    watch->begin(0, kTensorSum, mark);
    if (mark >= 100) queue_.ended.insert(mark - 100);
    if (mark % 10 == 0) dog.look();
    now_ = now_ + 0.5;
  }
  for (int64_t mark = 900; mark < 1000; ++mark) queue_.ended.insert(mark);
  dog.look();
  now_ = now_ + 1000;
  const int asked = queue_.asked.load();
  dog.look();
  EXPECT_EQ(queue_.asked.load(), asked) << "nothing is under way";
  EXPECT_TRUE(said_.empty());
}

TEST_F(Watching, ProgressOfTheOthersCounts) {
  Watchdog dog(settings());
  const auto watch = dog.watch(queue_, 1);
  watch->begin(0, kTensorSum, 1);
  watch->begin(0, kTensorSum, 2);
  now_ = now_ + 50;
  queue_.ended.insert(1);
  dog.look();
  now_ = now_ + 50;
  dog.look();
  EXPECT_TRUE(said_.empty()) << "the second began to run only when the first had ended";
  now_ = now_ + 11;
  dog.look();
  expect_said({"has waited 61 s"});
}

TEST_F(Watching, AFailureNobodyAskedForIsReported) {
  Watchdog::Settings s = settings();
  s.timeout = 0;
  Watchdog dog(s);
  const auto watch = dog.watch(queue_, 1);
  watch->begin(0, kTensorSum, 1);
  now_ = now_ + 1e6;
  dog.look();
  EXPECT_TRUE(said_.empty()) << "a time-out of 0 waits for ever";
  queue_.failure = "NCCL: remote process exited";
  dog.look();
  expect_said({"rank 5 (host node3, GPU 1): NCCL: remote process exited",
               "Under way was all-reduce of 4.0 MiB", "first error of the job"});
  EXPECT_EQ(codes_, std::vector{ExitCode::failure});
  EXPECT_EQ(queue_.aborts, 1);
  EXPECT_EQ(queue_.aborted_with, ExitCode::failure);
}

// The case a watchdog is for: the device's library keeps every caller waiting.
TEST_F(Watching, ADeviceThatDoesNotAnswerIsLateAllTheSame) {
  std::promise<void> answers, ended;
  queue_.hang_when_asked = answers.get_future().share();
  Watchdog::Settings s = settings();
  s.clock = nullptr;
  s.timeout = 0.05;
  s.interval = 0.001;
  s.end = [&](ExitCode code) {
    codes_.push_back(code);
    ended.set_value();
  };
  Watchdog dog(s);
  const auto watch = dog.watch(queue_, 1);
  watch->begin(0, kTensorSum, 1);
  const auto over = ended.get_future();
  EXPECT_EQ(over.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  answers.set_value();
  EXPECT_EQ(codes_, std::vector{ExitCode::watchdog});
  EXPECT_GT(queue_.asked, 0);
  expect_said({"has waited 0 s for all-reduce of 4.0 MiB"});
}

// A log whose lock is held, and a launcher that does not answer.
TEST_F(Watching, AnEndThatHangsLeavesTheProcess) {
  std::promise<void> never;
  const auto hang = never.get_future().share();
  std::atomic<int> left_with = -1;
  Watchdog::Settings s = settings();
  s.abort_grace = 0.5;
  s.say = [hang](const std::string&) { hang.wait(); };
  s.end = [hang](ExitCode) { hang.wait(); };
  s.exit = [&](int code) { left_with = code; };
  Watchdog dog(s);
  const auto watch = dog.watch(queue_, 1);
  watch->begin(0, kTensorSum, 1);
  now_ = now_ + 61;
  testing::internal::CaptureStderr();
  dog.look();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("has waited 61 s"), std::string::npos);
  EXPECT_EQ(left_with, static_cast<int>(ExitCode::watchdog));
  EXPECT_EQ(queue_.aborts, 1);
  never.set_value();
}

TEST_F(Watching, AllThatIsWatchedIsAborted) {
  FakeQueue other;
  Watchdog dog(settings());
  const auto first = dog.watch(queue_, 1);
  {
    FakeQueue gone;
    gone.failure = "not asked any more";
    const auto watch = dog.watch(gone, 1);
  }
  const auto second = dog.watch(other, 1);
  other.failure = "broken";
  dog.look();
  EXPECT_EQ(queue_.aborts, 1);
  EXPECT_EQ(other.aborts, 1);
}

TEST_F(Watching, TheJobEndsThoughAbortingHangs) {
  std::promise<void> let_go;
  Watchdog::Settings s = settings();
  s.abort_grace = 0.05;
  Watchdog dog(s);
  const auto watch = dog.watch(queue_, 1);
  queue_.hang_in_abort = let_go.get_future().share();
  queue_.failure = "broken";
  dog.look();
  EXPECT_EQ(codes_.size(), 1u);
  EXPECT_FALSE(queue_.left_abort);
  let_go.set_value();
  while (!queue_.left_abort) std::this_thread::yield();
}

TEST_F(Watching, TheThreadLooksByItselfAndLeavesAtOnce) {
  Watchdog::Settings s = settings();
  std::promise<ExitCode> code;
  s.clock = nullptr;
  s.timeout = 0.05;
  s.interval = 0.01;
  s.end = [&](ExitCode with) { code.set_value(with); };
  {
    Watchdog dog(s);
    const auto watch = dog.watch(queue_, 1);
    watch->begin(0, kTensorSum, 1);
    auto ended = code.get_future();
    ASSERT_EQ(ended.wait_for(std::chrono::seconds(30)), std::future_status::ready);
    EXPECT_EQ(ended.get(), ExitCode::watchdog);
  }
  s.timeout = 600;
  s.interval = 600;
  const auto before = std::chrono::steady_clock::now();
  {
    Watchdog dog(s);
    const auto watch = dog.watch(queue_, 1);
    watch->begin(0, kTensorSum, 1);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
}

// What a thread waits for itself.
TEST_F(Watching, ALateExchangeOfTheHostEndsTheJobAndIsNamed) {
  const auto recorder = std::make_shared<FlightRecorder>();
  Watchdog::Settings with = settings();
  with.host = recorder;
  Watchdog dog(with);
  for (int i = 0; i < 3; ++i) {
    recorder->begin(kTensorSum, 1, now_);
    now_ = now_ + 59;
    dog.look();
    recorder->end(now_);
  }
  now_ = now_ + 1000;
  dog.look();
  EXPECT_TRUE(said_.empty()) << "nothing was under way, or not for so long";
  recorder->begin(kTensorSum, 4, now_);
  now_ = now_ + 61;
  dog.look();
  dog.look();
  expect_said({"rank 5 (host node3, GPU 1) has waited 61 s",
               "all-reduce of 4.0 MiB in the tensor group (outside of steps)"});
  EXPECT_EQ(codes_, std::vector{ExitCode::watchdog});
}

TEST_F(Watching, LimitsFollowThePhase) {
  const auto recorder = std::make_shared<FlightRecorder>();
  recorder->took("saving", 40);
  Watchdog::Settings with = settings();
  with.host = recorder;
  with.timeout = -1;
  Watchdog dog(with);
  const auto watch = dog.watch(queue_, 1);
  {
    const WhereScope loading = WhereScope::phase("loading");
    recorder->begin(kTensorSum, 1, now_);
  }
  now_ = now_ + FlightRecorder::kFirstLimit;
  dog.look();
  recorder->end(now_);
  {
    const WhereScope saving = WhereScope::phase("saving");
    watch->begin(0, kTensorSum, 1);
  }
  now_ = now_ + 120;
  dog.look();
  EXPECT_TRUE(said_.empty());
  now_ = now_ + 1;
  dog.look();
  expect_said({"has waited 121 s", "(saving)",
               "set parallel.timeout; without it they may take three times as long"});
}

// What its ranks tell rank 0, as a roll call does.
class FakeRoll : public RollCall {
 public:
  Heard listen(const std::function<Standing()>&) override { return heard; }
  std::string call(const std::function<Standing()>& own) override {
    own();
    return "rank 3 is stopped";
  }
  void dismiss() override { dismissed = true; }
  std::string records() const override { return "of all ranks\n"; }

  bool dismissed = false;
  Heard heard = Heard::nothing;
};

TEST_F(Watching, EachRankLeavesARecordOfAStandstill) {
  const std::string folder = testing::TempDir() + "standstill" + std::to_string(getpid());
  const auto roll = std::make_shared<FakeRoll>();
  Watchdog::Settings with = settings();
  with.roll = roll;
  with.own = [] {
    Standing own;
    own.rank = 12;
    own.host = "b";
    own.exchanges = {"1 2 all-reduce", "2 3 barrier"};
    return own;
  };
  with.folder = folder;
  Watchdog dog(with);
  dog.look();
  EXPECT_FALSE(std::filesystem::exists(folder));
  roll->heard = RollCall::Heard::late;
  dog.look();
  expect_said(
      {"rank 5 (host node3, GPU 1): rank 3 is stopped. What each rank exchanged last is in " +
       folder + ". Then start the job again"});
  EXPECT_EQ(test::bytes_of_file(folder + "/all-ranks.txt"), "of all ranks\n");
  const std::string own = test::bytes_of_file(folder + "/rank-00012.txt");
  EXPECT_EQ(own.find("rank 12 (host b, process 0)"), 0u) << own;
  EXPECT_NE(own.find("\n1 2 all-reduce\n2 3 barrier\n"), std::string::npos) << own;
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(roll->dismissed) << "after the message";
}

// The others have waited for this process, which was stopped, and have ended the job meanwhile.
TEST_F(Watching, WhatOthersHaveSaidIsNotSaidAgain) {
  const auto roll = std::make_shared<FakeRoll>();
  const auto recorder = std::make_shared<FlightRecorder>();
  Watchdog::Settings with = settings();
  with.roll = roll;
  with.host = recorder;
  Watchdog dog(with);
  recorder->begin(kTensorSum, 1, now_);
  now_ = now_ + 100;
  roll->heard = RollCall::Heard::over;
  dog.look();
  EXPECT_TRUE(said_.empty());
  EXPECT_EQ(codes_, std::vector{ExitCode::watchdog});
}

// The job ends with this rank's code, not with that of a standstill.
TEST_F(Watching, AFailedDeviceDismissesNobody) {
  const auto roll = std::make_shared<FakeRoll>();
  Watchdog::Settings with = settings();
  with.roll = roll;
  Watchdog dog(with);
  const auto watch = dog.watch(queue_, 1);
  queue_.failure = "NCCL: remote process exited";
  dog.look();
  expect_said({"NCCL: remote process exited"});
  EXPECT_EQ(codes_, std::vector{ExitCode::failure});
  EXPECT_FALSE(roll->dismissed);
}

}  // namespace
}  // namespace skein
