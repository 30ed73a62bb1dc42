#include "skein/checkpoint/claim.h"

#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <thread>

#include "skein/checkpoint/directory.h"
#include "skein/checkpoint/manifest.h"
#include "skein/checkpoint/shard.h"
#include "skein/core/files/files.h"

#include "scenario.h"
#include "support/expect_error.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;
using namespace std::chrono_literals;
using Time = ClaimOptions::Time;

// Time that passes only while somebody sleeps.
struct Clock {
  Time now{0};
  std::function<void()> while_asleep = [] {};

  ClaimOptions options(Time takeover = 60s, const std::string& run = "") {
    ClaimOptions made;
    made.run = run;
    made.takeover = takeover;
    made.now = [this] { return now; };
    made.sleep = [this](Time time) {
      now += time;
      while_asleep();
    };
    return made;
  }
};

std::vector<std::string> named_like(const std::string& directory, const std::string& prefix) {
  auto names = names_in(directory);
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(prefix); });
  std::sort(names.begin(), names.end());
  return names;
}

class Claims : public testing::Test {
 protected:
  std::unique_ptr<RunClaim> claim(const ClaimOptions& options) {
    return std::make_unique<RunClaim>(path_, options, *alone_);
  }
  std::unique_ptr<RunClaim> settled(const ClaimOptions& options) {
    auto made = claim(options);
    made->settle(*alone_);
    return made;
  }
  // A start that is killed, so that everything of it stays behind.
  pid_t killed_start() {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        const std::unique_ptr<RunClaim> at_work = settled({});
        ::kill(::getpid(), SIGKILL);
      } catch (...) {
      }
      ::_exit(1);
    }
    siginfo_t ended{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(ended.si_status, SIGKILL);
    return child;
  }
  void replace_in_generation(const std::string& from, const std::string& to) {
    const std::string file = join_path(path_, generation_name(latest_generation(path_)));
    std::string text = test::bytes_of_file(file);
    ASSERT_NE(text.find(from), std::string::npos) << text;
    text.replace(text.find(from), from.size(), to);
    text.erase(text.find(",\n \"crc32c\""));  // older programs wrote none
    write(file, text + "\n}\n");
  }
  // As if the writer were of a host where nobody can look for it.
  void move_writer_away() { replace_in_generation("\"space\": \"", "\"space\": \"elsewhere "); }
  void beat() {
    for (const std::string& name : named_like(path_, "heartbeat-"))
      write(join_path(path_, name), fmt::format("{}", ++beats_));
  }
  std::string save(const RunClaim& of, int64_t step) {
    return CheckpointStore(of, 5, *alone_).save(step, filled_state(rows(), 1, 0, 1).pieces, "{}");
  }

  test::Scratch directory_;
  std::string path_ = directory_.file("run/checkpoints");
  std::unique_ptr<Group> alone_ = single_rank();
  Clock clock_;
  int beats_ = 0;
};

TEST_F(Claims, ShowThatTheyLiveUntilTheyEnd) {
  auto first = settled(clock_.options());
  EXPECT_EQ(first->generation(), 1);
  const auto signs = named_like(path_, "heartbeat-000001.");
  ASSERT_EQ(signs.size(), 1u);
  test::expect_words(test::bytes_of_file(join_path(path_, signs[0])),
                     {own_identity().host, std::to_string(::getpid()), first->run()});
  first.reset();
  EXPECT_TRUE(named_like(path_, "heartbeat-").empty());
  EXPECT_EQ(settled(clock_.options())->generation(), 2);
  EXPECT_EQ(clock_.now, 0s);
}

TEST_F(Claims, LeaveNothingUnlessTheyWereSettled) {
  claim(clock_.options()).reset();
  EXPECT_FALSE(std::filesystem::exists(directory_.file("run")));
  settled(clock_.options()).reset();
  claim(clock_.options()).reset();
  EXPECT_EQ(named_like(path_, ""), std::vector<std::string>{"generation-000001"});
}

// What is left is removed by another thread, as where a signal ends the process.
TEST_F(Claims, OfAProcessThatEndsAtOnceLeaveNothingUnsettled) {
  const auto first = claim(clock_.options());
  RunClaim::withdraw_all();
  EXPECT_FALSE(std::filesystem::exists(directory_.file("run"))) << "which it had made";
  settled(clock_.options()).reset();
  auto own = claim(clock_.options());
  EXPECT_EQ(names_in(path_).size(), 3u);
  std::thread([] { RunClaim::withdraw_all(); }).join();
  EXPECT_EQ(names_in(path_), std::vector<std::string>{"generation-000001"});
  const auto next = settled(clock_.options());
  EXPECT_EQ(next->generation(), 2);
  EXPECT_EQ(clock_.now, 0s);
  own.reset();
  EXPECT_EQ(latest_generation(path_), 2) << "which is no longer its own";
  RunClaim::withdraw_all();
  EXPECT_TRUE(named_like(path_, "heartbeat-").empty());
  EXPECT_EQ(latest_generation(path_), 2) << "a settled one may have written to the run";
}

TEST_F(Claims, MakeNoFolderForALinkToWhatIsNotMounted) {
  std::filesystem::create_directories(directory_.file("run"));
  std::filesystem::create_symlink("elsewhere", path_);
  expect_error(ExitCode::failure, [&] { claim(clock_.options()); },
               {path_, "is a symbolic link to nothing", "mount or make what it leads to"});
  std::filesystem::create_symlink("elsewhere", directory_.file("link"));
  path_ = directory_.file("link/checkpoints");
  expect_error(ExitCode::failure, [&] { claim(clock_.options()); },
               {directory_.file("link") + " is a symbolic link to nothing"});
}

TEST_F(Claims, OfAnotherRunAreRefusedWithoutWaiting) {
  const auto older = settled(clock_.options(60s, "mine"));
  expect_error(ExitCode::usage, [&] { claim(clock_.options(60s, "theirs")); },
               {"mine", "theirs", "one folder holds one run"});
  EXPECT_EQ(clock_.now, 0s);
}

TEST_F(Claims, KnowAtOnceThatAKilledProcessIsDead) {
  const pid_t child = killed_start();
  ASSERT_EQ(named_like(path_, "heartbeat-").size(), 1u);
  EXPECT_EQ(claim(clock_.options())->generation(), 2) << "nobody has asked for its end yet";
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(settled(clock_.options())->generation(), 2);
  EXPECT_EQ(clock_.now, 0s);
  EXPECT_TRUE(named_like(path_, "heartbeat-").empty()) << "what it left is cleared";
}

TEST_F(Claims, WaitForOneThatLivesAndThenTakeOver) {
  const auto older = settled(clock_.options());
  save(*older, 10);
  clock_.while_asleep = [&] { beat(); };
  const auto newer = settled(clock_.options(60s));
  EXPECT_EQ(clock_.now, 60s);
  EXPECT_EQ(newer->generation(), 2);
  EXPECT_EQ(newer->run(), older->run());
  expect_error(ExitCode::superseded, [&] { save(*older, 20); },
               {"generation 2 of this run", own_identity().host, std::to_string(::getpid()),
                "of generation 1"});
  expect_error(ExitCode::superseded, [&] { older->settle(*alone_); }, {"generation 2"});
  EXPECT_NE(save(*newer, 15).find("step-00000015.g000002"), std::string::npos);
}

TEST_F(Claims, WithoutPatienceTakeOverAtOnce) {
  const auto older = settled(clock_.options());
  EXPECT_EQ(settled(clock_.options(0s))->generation(), 2);
  EXPECT_EQ(clock_.now, 0s);
}

TEST_F(Claims, GoOnAsSoonAsTheOlderOneEnds) {
  auto older = settled(clock_.options());
  clock_.while_asleep = [&] {
    beat();
    if (clock_.now >= 5s) older.reset();
  };
  EXPECT_EQ(claim(clock_.options())->generation(), 2);
  EXPECT_EQ(clock_.now, 5s);
}

TEST_F(Claims, WatchAProcessOfAnotherHost) {
  const auto older = settled(clock_.options());
  move_writer_away();
  EXPECT_EQ(claim(clock_.options(60s))->generation(), 2);
  EXPECT_EQ(clock_.now, 25s) << "it has shown no life for longer than two renewals";
  clock_.while_asleep = [&] {
    if (clock_.now < 40s) beat();
  };
  EXPECT_EQ(claim(clock_.options(60s))->generation(), 2);
  EXPECT_GE(clock_.now, 64s) << "25 s from its last sign on";
  EXPECT_LE(clock_.now, 66s);
}

TEST_F(Claims, LoseAgainstAStartThatWasFaster) {
  const auto older = settled(clock_.options());
  std::unique_ptr<RunClaim> faster;
  clock_.while_asleep = [&] {
    if (!faster) faster = settled(ClaimOptions{.run = "", .takeover = Time(0)});
  };
  expect_error(
      ExitCode::superseded, [&] { claim(clock_.options()); },
      {"another start was faster", "generation 2", own_identity().host, "changed nothing"});
  EXPECT_EQ(named_like(path_, "heartbeat-").size(), 1u);
  EXPECT_EQ(save(*faster, 1).find("g000001"), std::string::npos);
}

TEST_F(Claims, OfManyStartsAtOnceOneIsTaken) {
  for (int round = 0; round < 10; ++round) {
    const std::string path = directory_.file(std::to_string(round));
    std::vector<std::unique_ptr<RunClaim>> claims(6);
    std::atomic<int> others{0};
    std::vector<std::thread> starts;
    for (auto& own : claims)
      starts.emplace_back([&] {
        ClaimOptions options;
        options.sleep = [](Time) { throw Error(ExitCode::requeue, "it waits"); };
        const auto alone = single_rank();
        try {
          own = std::make_unique<RunClaim>(path, options, *alone);
        } catch (const Error& error) {
          EXPECT_TRUE(error.code() == ExitCode::superseded || error.code() == ExitCode::requeue)
              << error.what();
          ++others;
        }
      });
    for (std::thread& start : starts) start.join();
    EXPECT_EQ(others, 5);
    EXPECT_EQ(generation_numbers(path), std::vector<int64_t>{1});
    EXPECT_EQ(named_like(path, "heartbeat-").size(), 1u);
  }
}

TEST_F(Claims, OfOneRunKeepItsId) {
  auto first = settled(clock_.options());
  EXPECT_EQ(first->run().size(), 32u);
  const std::string path = save(*first, 10), run = first->run();
  EXPECT_NE(test::bytes_of_file(path + "/manifest.json").find("\"run\": \"" + run + "\""),
            std::string::npos);
  first.reset();
  EXPECT_EQ(settled(clock_.options())->run(), run);
  for (const std::string& name : named_like(path_, "generation-"))
    std::filesystem::remove(join_path(path_, name));
  EXPECT_EQ(settled(clock_.options())->run(), run) << "its commits know it";
  EXPECT_EQ(settled(clock_.options(60s, run))->run(), run);
  expect_error(ExitCode::usage, [&] { claim(clock_.options(60s, "another")); },
               {"another", run, "one folder holds one run"});
  expect_error(ExitCode::usage, [&] { claim(clock_.options(60s, "a b")); },
               {"run.id", "a b", "letters"});
  EXPECT_NE(RunClaim(directory_.file("new"), clock_.options(), *alone_).run(), run);
}

TEST_F(Claims, RefuseWhatIsOfAnotherRun) {
  const std::string other = directory_.file("other"),
                    mine = save(*settled(clock_.options(60s, "mine")), 10);
  {
    RunClaim theirs(other, clock_.options(60s, "theirs"), *alone_);
    theirs.settle(*alone_);
    CheckpointStore(theirs, 5, *alone_).save(70, filled_state(rows(), 1, 0, 1).pieces, "{}");
  }
  const std::string commit = "step-00000070.g000001";
  std::filesystem::copy(join_path(other, commit), join_path(path_, commit));
  expect_error(ExitCode::usage, [&] { claim(clock_.options()); }, {commit, "theirs", "mine"});
  EXPECT_EQ(find_checkpoint(path_, *alone_)->step, 10) << "the commit of the other run is refused";
  std::filesystem::remove_all(join_path(path_, commit));
  std::filesystem::copy(join_path(other, "generation-000001"),
                        join_path(path_, "generation-000002"));
  expect_error(ExitCode::usage, [&] { claim(clock_.options()); },
               {"generation-000002", "theirs", "mine"});
  std::filesystem::remove(join_path(path_, "generation-000001"));
  expect_error(ExitCode::usage, [&] { claim(clock_.options()); }, {mine, "theirs", "mine"});
}

TEST_F(Claims, TakeCheckpointsThatHaveNoId) {
  const std::string path = scenario::save(path_, cases()[0], 10, 1);
  EXPECT_EQ(test::bytes_of_file(path + "/manifest.json").find("\"run\""), std::string::npos);
  EXPECT_EQ(settled(clock_.options())->run().size(), 32u);
  EXPECT_EQ(find_checkpoint(path_, *alone_)->step, 10);
}

TEST_F(Claims, NameTheRunInEveryShard) {
  const std::string path = save(*settled(clock_.options(60s, "mine")), 10);
  const auto read_as = [&](const std::string& run) {
    const Manifest manifest = parse_manifest(test::bytes_of_file(path + "/manifest.json"), path);
    const ShardReader reader(read_shard(path, manifest.shards[0]), {10, 1, 0, 1, run}, path);
  };
  EXPECT_NO_THROW(read_as("mine"));
  EXPECT_NO_THROW(read_as("")) << "a manifest of older programs names none";
  try {
    read_as("theirs");
    ADD_FAILURE() << "a shard of another run is taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("it is of the run mine, not of the run theirs"),
              std::string::npos)
        << error.what();
  }
}

TEST(Heartbeats, AreRenewedButNeverMadeAgain) {
  const test::Scratch directory;
  const std::string path = directory.file("heartbeat");
  const Heartbeat heart(path, "about", 2ms);
  const auto first = heartbeat_at(path);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->find("about\nbeat "), 0u);
  for (int i = 0; i < 2000 && heartbeat_at(path) == first; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_NE(heartbeat_at(path), first);
  EXPECT_EQ(heartbeat_at(path)->size(), first->size());
  std::filesystem::remove(path);
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(heartbeat_at(path).has_value());
}

TEST(Heartbeats, ProcessesAreFoundByNumberAndStart) {
  ProcessIdentity own = own_identity();
  EXPECT_EQ(life_of(own), Life::alive);
  ++own.started;
  EXPECT_EQ(life_of(own), Life::dead) << "another process has the number now";
  // No file of /proc tells of number 0, and yet it can be sent signals.
  own.process = 0;
  EXPECT_EQ(life_of(own), Life::unknown) << "it may be hidden";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  own.process = child;
  EXPECT_EQ(life_of(own), Life::dead);
  own.space += "x";
  EXPECT_EQ(life_of(own), Life::unknown);
}

}  // namespace
}  // namespace skein::checkpoint
