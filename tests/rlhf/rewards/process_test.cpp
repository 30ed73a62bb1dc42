#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include "skein/core/stop_signals.h"

#include "rlhf/reward_fixture.h"
#include "text/golden_files.h"

namespace skein::rlhf::rewards {
namespace {

using test::answer;
using test::expect_error;

const char* const kLengths = R"(
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "score": len(asked["response"]) + asked["record"].get("bonus", 0) - (not asked["ended"])}), flush=True)
)";

std::vector<Answer> three() {
  std::vector<Answer> made = {answer("a"), answer("bb\xff", R"({"bonus":0.5})"),
                              answer("\u00e9\n\"", "", 1, false)};
  for (size_t i = 0; i < made.size(); ++i) made[i].prompt.number = static_cast<int64_t>(40 + i);
  return made;
}

class ProcessRewards : public testing::Test {
 protected:
  std::string script(const std::string& text) {
    return "process:exec python3 " + folder_.write("script.py", text);
  }
  std::string shell(const std::string& text) {
    return "process:. " + folder_.write("script.sh", text);
  }
  std::vector<double> scores(const std::string& list, const std::vector<Answer>& answers,
                             double seconds = 30) {
    return make_rewards(list, {*world_, seconds}).scores(answers);
  }
  void expect_failure(const std::string& list, std::initializer_list<std::string> words,
                      double seconds = 30) {
    expect_error(ExitCode::failure, words, [&] { scores(list, three(), seconds); });
  }

  test::Scratch folder_;
  std::unique_ptr<Group> world_ = single_rank();
};

TEST_F(ProcessRewards, AreWhatTheProcessSays) {
  RewardMixture rewards = make_rewards("2*" + script(kLengths), {*world_});
  for (int batch = 0; batch < 3; ++batch)
    EXPECT_EQ(rewards.scores(three()), (std::vector<double>{2, 7, 4}));
  EXPECT_EQ(rewards.scores(std::vector<Answer>{}), std::vector<double>{});
  EXPECT_EQ(rewards.scores(std::vector<Answer>{answer("four")}), (std::vector<double>{8}));
}

TEST_F(ProcessRewards, SeeTheWholeDialogue) {
  Answer one = answer("x");
  one.prompt.messages = {{"system", "s"}, {"user", "a"}, {"assistant", "b"}, {"user", "last"}};
  const std::string list = script(R"(import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    roles = [turn["role"] for turn in asked["messages"]]
    said = "".join(turn["content"] for turn in asked["messages"])
    right = asked["prompt"] == "last" and roles == ["system", "user", "assistant", "user"] and said == "sablast"
    print(json.dumps({"id": asked["id"], "score": int(right)}), flush=True)
)");
  EXPECT_EQ(scores(list, {one}), std::vector<double>{1});
}

TEST_F(ProcessRewards, AreSeenByAllRanks) {
  const std::string list = script(kLengths);
  run_ranks(3, [&](Group& world) {
    RewardMixture rewards = make_rewards(list, {world});
    EXPECT_EQ(rewards.scores(three()), (std::vector<double>{1, 3.5, 2}));
  });
  const std::string broken = shell("echo no; cat");
  expect_error(ExitCode::failure, {"no JSON"}, [&] {
    run_ranks(3, [&](Group& world) { make_rewards(broken, {world}).scores(three()); });
  });
}

TEST_F(ProcessRewards, MayComeInAnyOrder) {
  const char* backwards = R"(
import json, sys
ids = []
for line in sys.stdin:
    ids.append(json.loads(line)["id"])
    if len(ids) == 3:
        for id in reversed(ids): print(json.dumps({"id": id, "score": id, "why": "late"}) + "\n")
        sys.stdout.flush()
        ids = []
)";
  RewardMixture rewards = make_rewards(script(backwards), {*world_});
  EXPECT_EQ(rewards.scores(three()), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(rewards.scores(three()), (std::vector<double>{3, 4, 5}));
}

// Requests and replies are larger than pipes hold.
TEST_F(ProcessRewards, DoNotDeadlockOnFullPipes) {
  const char* chatty = R"(
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "score": 1, "text": "x" * 50000}), flush=True)
)";
  const std::vector<Answer> many(100, answer(std::string(50'000, 'y')));
  EXPECT_EQ(scores(script(chatty), many), std::vector<double>(100, 1));
  const char* patient = R"(
import json, sys
lines = [sys.stdin.readline() for _ in range(100)]
for line in lines: print(json.dumps({"id": json.loads(line)["id"], "score": 2, "text": "x" * 50000}))
sys.stdout.flush()
)";
  EXPECT_EQ(scores(script(patient), many), std::vector<double>(100, 2));
}

TEST_F(ProcessRewards, FailWhereTheProcessEnds) {
  expect_failure(shell("exit 3"),
                 {"script.sh", "ended with exit code 3", "prompt 40 has no score", "3 of 3"});
  expect_failure(shell("read line\necho '{\"id\":0,\"score\":1}'\nkill -9 $$"),
                 {"ended by signal 9 (Killed)", "prompt 41 has no score", "2 of 3"});
  expect_failure("process:/none/there", {"exit code 127", "/none/there"});
  expect_failure(shell("printf '{\"id\":'\nexec 1>&-\nexec sleep 30"), {"no JSON", "{\\\"id\\\":"});
  expect_failure(shell("exec 1>&-\nexec sleep 30"), {"closed its output", "prompt 40"});
}

TEST_F(ProcessRewards, FailWhereTheProcessWritesRubbish) {
  const auto reply = [&](const std::string& text) {
    return shell("printf '%s\\n' '" + text + "'\ncat >/dev/null");
  };
  expect_failure(reply("hello"), {"no JSON", "\"hello\"", "{\"id\":0,\"score\":0.5}"});
  expect_failure(reply("[1]"), {"no JSON object", "[1]"});
  expect_failure(reply("{\"id\":0,\"score\":NaN}"), {"no JSON", "NaN"});
  expect_failure(reply("{\"id\":0,\"score\":1e999}"), {"not finite", "1e999"});
  expect_failure(reply("{\"id\":0,\"score\":null}"),
                 {"no number as \"score\" of prompt 40", "null"});
  expect_failure(reply("{\"id\":0}"), {"no number as \"score\" of prompt 40"});
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  expect_failure(reply("{\"id\":0,\"score\":1,\"why\":" + deep + "}"),
                 {"no JSON object within 32 levels"});
  expect_failure(reply("{\"score\":1}"), {"no whole number as \"id\""});
  expect_failure(reply("{\"id\":\"0\",\"score\":1}"), {"no whole number as \"id\""});
  for (const char* id : {"3", "-1", "18446744073709551615"})
    expect_failure(reply(fmt::format("{{\"id\":{},\"score\":1}}", id)),
                   {fmt::format("scored id {}", id), "asked for ids 0 to 2"});
  expect_failure(shell("head -c 100000 /dev/zero | tr '\\0' '['\necho\ncat >/dev/null"),
                 {"no JSON", "..."});
}

TEST_F(ProcessRewards, FailWhereAReplyComesTwice) {
  const char* twice = R"(
import json, sys
for line in sys.stdin:
    reply = json.dumps({"id": json.loads(line)["id"], "score": 1})
    print(reply + "\n" + reply, flush=True)
)";
  expect_failure(script(twice), {"scored id 0, of prompt 40, twice"});
  const char* last_twice = R"(
import json, sys
ids = [json.loads(sys.stdin.readline())["id"] for _ in range(3)]
sys.stdout.write("".join(json.dumps({"id": id, "score": 1}) + "\n" for id in ids + ids[:1]))
sys.stdout.flush()
sys.stdin.read()
)";
  expect_failure(script(last_twice), {"more than a line for each answer", "\\\"id\\\": 0"});
  const char* later = R"(
import json, sys, time
lines = [sys.stdin.readline() for _ in range(3)]
for line in lines: print(json.dumps({"id": json.loads(line)["id"], "score": 1}), flush=True)
time.sleep(0.3)
print('{"id": 1, "score": 5}', flush=True)
sys.stdin.read()
)";
  RewardMixture rewards = make_rewards(script(later), {*world_});
  rewards.scores(three());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  expect_error(ExitCode::failure, {"scored id 1, but was asked for ids 3 to 5"},
               [&] { rewards.scores(three()); });
  expect_error(ExitCode::failure, {"has failed before"}, [&] { rewards.scores(three()); });
}

TEST_F(ProcessRewards, FailWhereTheProcessTakesTooLong) {
  expect_failure(shell("exec sleep 30"),
                 {"not done after 0.3 seconds", "prompt 40 has no score", "flush"}, 0.3);
  expect_failure(shell("printf '{\"id\":0,\"sc'\nexec sleep 30"),
                 {"not done after", "the last it wrote is \"{\\\"id\\\":0,\\\"sc\""}, 3);
  expect_failure(shell("yes ''"), {"not done after"}, 0.5);
  expect_failure(script("import os, sys\nout = os.fdopen(1, 'w', 4096)\nfor line in sys.stdin: "
                        "out.write('unseen')"),
                 {"not done after", "flush"}, 1);
}

TEST_F(ProcessRewards, FailWhereTheProcessDoesNotReadOn) {
  std::vector<Answer> large = three();
  for (Answer& one : large) one.text = std::string(1'000'000, 'y');
  const std::string list =
      shell("for i in 0 1 2; do echo \"{\\\"id\\\":$i,\\\"score\\\":1}\"; done\nexec sleep 30");
  expect_error(ExitCode::failure, {"scored all 3 answers, but not read"},
               [&] { scores(list, large, 3); });
  // One that has closed its input is told from one that has ended.
  const std::string closed = shell(
      "exec 0<&-\nfor i in 0 1 2; do echo \"{\\\"id\\\":$i,\\\"score\\\":1}\"; done\nexec sleep "
      "30");
  EXPECT_EQ(scores(closed, large), std::vector<double>(3, 1));
}

TEST_F(ProcessRewards, FailWhereALineDoesNotEnd) {
  expect_failure(shell("exec tr '\\0' 'x' </dev/zero"),
                 {"a line of more than 1048576 bytes", "\"xxxx", "..."});
}

// Gone, or a zombie that nobody has looked after yet.
bool gone(pid_t process) {
  std::error_code none;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), none).empty();
}

TEST_F(ProcessRewards, EndWithTheRun) {
  const std::string numbers = folder_.path() + "/numbers";
  const auto begin = std::chrono::steady_clock::now();
  {
    // Deaf to the end of its input and to TERM, with a child of its own.
    const std::string list =
        shell("trap '' TERM\nsleep 60 & echo $! > " + numbers +
              "\nwhile :; do read line && echo '{\"id\":0,\"score\":1}'; sleep 0.1; done");
    EXPECT_EQ(scores(list, {answer("a")}), (std::vector<double>{1}));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  std::ifstream file(numbers);
  pid_t child = 0;
  ASSERT_TRUE(file >> child);
  for (int look = 0; look < 500 && !gone(child); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(gone(child));
}

size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

// Ignored signals pass to what is started.
TEST_F(ProcessRewards, AnswerToSignalsThatWeIgnore) {
  const StopSignals stopping;
  ignore_stop_signals();
  const std::string list = script(R"(
import json, signal, sys
for line in sys.stdin:
    kept = [signal.getsignal(one) == signal.SIG_DFL for one in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)]
    print(json.dumps({"id": json.loads(line)["id"], "score": sum(kept)}), flush=True)
)");
  EXPECT_EQ(scores(list, {answer("a")}), (std::vector<double>{3}));
}

TEST_F(ProcessRewards, AreNotWaitedForOnceARunIsInterrupted) {
  const std::string slow = shell("exec sleep 60");
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<int> interrupted{0};
  run_ranks(2, [&](Group& world) {
    RewardMixture rewards = make_rewards(slow, {world, 50});
    const auto asked = [&] {
      return world.rank() == 1 &&
             std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(300);
    };
    Meeting meeting(world, asked);
    rewards.set_meeting(&meeting);
    try {
      rewards.scores(three());
    } catch (const Interruption&) {
      ++interrupted;
    }
  });
  EXPECT_EQ(interrupted, 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST_F(ProcessRewards, ScoreAndFailAsUsualWhereTheyCouldBeInterrupted) {
  const std::string good = script(kLengths), bad = shell("sleep 0.7; exit 3");
  run_ranks(2, [&](Group& world) {
    Meeting meeting(world, [] { return false; });
    RewardMixture rewards = make_rewards(good, {world});
    rewards.set_meeting(&meeting);
    for (int batch = 0; batch < 2; ++batch)
      EXPECT_EQ(rewards.scores(three()), (std::vector<double>{1, 3.5, 2}));
  });
  expect_error(ExitCode::failure, {"exit code 3"}, [&] {
    run_ranks(2, [&](Group& world) {
      Meeting meeting(world, [] { return false; });
      RewardMixture rewards = make_rewards(bad, {world});
      rewards.set_meeting(&meeting);
      rewards.scores(three());
    });
  });
}

TEST_F(ProcessRewards, LeaveNoFilesOpenAndInheritNone) {
  const std::string other = folder_.write("other", "");
  const std::ifstream open_at_exec(other);
  const size_t before = open_files();
  const std::string count = shell(
      "read line\necho \"{\\\"id\\\":0,\\\"score\\\":$(ls -l /proc/$$/fd | grep -c other)}\"");
  EXPECT_EQ(scores(count, {answer("a")}), (std::vector<double>{0}));
  EXPECT_EQ(open_files(), before);
  expect_failure(shell("exit 1"), {"exit code 1"});
  EXPECT_EQ(open_files(), before);
}

TEST_F(ProcessRewards, RefuseWhatCannotBe) {
  expect_error(ExitCode::usage, {"needs a command"}, [&] { make_rewards("process:", {*world_}); });
  expect_error(ExitCode::usage, {"cannot have 0 seconds"}, [&] {
    make_rewards("process:cat", {*world_, 0});
  });
}

}  // namespace
}  // namespace skein::rlhf::rewards
