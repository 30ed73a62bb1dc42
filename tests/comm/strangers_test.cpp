// Who is no rank of the job and comes to its meeting all the same.
#include <atomic>
#include <chrono>
#include <deque>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

#include "skein/comm/tcp/private_file.h"

#include "comm/caller.h"

namespace skein {
namespace {

using namespace test;
using Clock = std::chrono::steady_clock;

const std::string kJobSecret = "0123456789abcdef";

// A rank 0 that waits for others, with a secret unless it is "".
class Strangers : public Tcp {
 protected:
  tcp::TcpJob job(int rank, int ranks, const std::string& secret = kJobSecret) const {
    tcp::TcpJob made = job_at(rank, ranks, fmt::format("127.0.0.1:{}", port_));
    made.secret = secret;
    return made;
  }
  int port() const { return port_; }
  std::jthread zero(int ranks, const std::string& secret = kJobSecret) const {
    return std::jthread(
        [job = job(0, ranks, secret)] { EXPECT_EQ(run_job(job, check_sum).text, ""); });
  }
  // The last rank comes, and the job begins soon.
  void expect_to_begin(int rank, int ranks, const std::string& secret = kJobSecret) const {
    const auto start = Clock::now();
    EXPECT_EQ(run_job(job(rank, ranks, secret), check_sum).text, "");
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 5);
  }

 private:
  int port_ = free_port();
};

tcp::FrameHead head_of(uint32_t bytes, uint32_t version = 2) {
  tcp::FrameHead head;
  head.version = version;
  head.bytes = bytes;
  return head;
}

TEST_F(Strangers, GarbageIsSentAway) {
  const std::jthread first = zero(2);
  const std::string zeros(32, '\0');
  for (const std::string& text :
       {std::string("GET / HTTP/1.0\r\nHost: somewhere\r\n\r\n"),
        bytes_of_head(head_of(0xFFFFFFFF)), bytes_of_head(head_of(1025)),
        bytes_of_head(head_of(100, 9)), tcp::frame_of("hello 2 1 0 6000 x"), tcp::frame_of(""),
        tcp::frame_of(zeros + zeros + "hello 2 1 0 6000 x")}) {
    const Caller caller(port());
    EXPECT_EQ(caller.hear_frame().size(), 32u);
    caller.say(text);
    caller.hear(sizeof(tcp::FrameHead) + 32);  // what a stranger is told, if anything
    EXPECT_TRUE(caller.hears_the_end()) << text.size();
  }
  expect_to_begin(1, 2);
}

TEST_F(Strangers, WhoStopsHalfwayKeepsNobodyOut) {
  const std::jthread first = zero(2);
  const std::string frame = tcp::frame_of(std::string(64, 'x') + "hello 2 1 0 6000 nowhere");
  std::vector<Caller> callers;
  for (size_t bytes = 0; bytes < frame.size(); ++bytes) {
    Caller& caller = callers.emplace_back(port());
    caller.say(frame.substr(0, bytes));
    if (bytes % 2 == 0) caller.hang_up();
  }
  expect_to_begin(1, 2);
}

// The descriptors of both ends are this process's.
bool may_open(rlim_t files) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= files) return true;
  limit.rlim_cur = std::min(files, limit.rlim_max);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= files;
}

TEST_F(Strangers, AThousandSilentConnectionsKeepNobodyOut) {
  if (!may_open(2200)) GTEST_SKIP() << "this host gives a process fewer than 2,200 open files";
  const std::jthread first = zero(3);
  const std::jthread second([this] { EXPECT_EQ(run_job(job(1, 3), check_sum).text, ""); });
  std::vector<Caller> silent;
  for (int i = 0; i < 1000; ++i) silent.emplace_back(port());
  expect_to_begin(2, 3);
}

TEST_F(Strangers, SilenceInAJobWithoutASecretKeepsNobodyOut) {
  const std::jthread first = zero(2, "");
  std::vector<Caller> silent;
  for (int i = 0; i < 300; ++i) silent.emplace_back(port());
  expect_to_begin(1, 2, "");
}

// It answers its greeting only when more than 256 others have come, as often as it comes.
TEST_F(Strangers, ASlowRankHasItsChanceAmongMany) {
  const std::jthread first([this] { run_job(job(0, 2), check_sum); });  // in vain
  uint64_t number = 0;
  for (int turn = 0; turn < 30 && number == 0; ++turn) {
    const Caller slow(port());
    tcp::HandshakeConnector side{tcp::Secret(kJobSecret)};
    const std::string greeting = slow.hear_frame();
    std::vector<Caller> others;
    for (int i = 0; i < 300; ++i) others.emplace_back(port()).hear(1);
    slow.say(tcp::frame_of(side.hello(greeting, text_of(tcp::Hello{2, 1, 0, 6000, "node7"}))));
    const std::string reply = slow.hear_frame();
    if (reply.empty()) continue;
    number = tcp::reply_in(side.reply(reply)).job;
    EXPECT_EQ(tcp::table_in(slow.hear_frame(), 2).rows.size(), 2u);
  }
  EXPECT_NE(number, 0u);
}

// Connects to that port and is gone at once, without a trace in the system's tables.
void ring_and_run(int port) {
  const int caller = connected(port);
  const linger none{1, 0};
  setsockopt(caller, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
  close(caller);
}

TEST_F(Strangers, AFloodKeepsNobodyOut) {
  const std::jthread first = zero(2);
  { const Caller listens(port()); }
  std::atomic<bool> begun = false;
  const std::jthread flood([&] {
    for (; !begun; pause(1)) ring_and_run(port());
  });
  const std::jthread crowd([&] {
    std::deque<int> held;
    for (; !begun; pause(1)) {
      held.push_back(connected(port()));
      if (held.size() > 300) close(held.front()), held.pop_front();
    }
    for (const int each : held) close(each);
  });
  pause(200);
  expect_to_begin(1, 2);
  begun = true;
}

TEST_F(Strangers, ThoseOfAnotherSecretAreRefused) {
  const std::jthread first = zero(2);
  for (const std::string secret : {"", "another-secret-16", "0123456789abcdeF"})
    expect_error(run_job(job(1, 2, secret), check_sum), ExitCode::usage,
                 {"rank 1 does not join", "127.0.0.1", "has another secret",
                  "the same SKEIN_RENDEZVOUS_SECRET"});
  expect_to_begin(1, 2);
}

// However many things they say.
TEST_F(Strangers, NonsenseDoesNotSilenceTheLog) {
  testing::internal::CaptureStderr();
  {
    const std::jthread first = zero(2);
    for (uint32_t version = 10; version < 40; ++version) {
      const Caller caller(port());
      caller.hear_frame();
      caller.say(bytes_of_head(head_of(100, version)));
      EXPECT_TRUE(caller.hears_the_end());
    }
    run_job(job(1, 2, "another-secret-16"), check_sum);
    expect_to_begin(1, 2);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("speaks version 14"), std::string::npos) << log;
  EXPECT_EQ(log.find("speaks version 15"), std::string::npos) << log;
  EXPECT_NE(log.find("was refused: it does not know the secret"), std::string::npos) << log;
}

TEST_F(Strangers, ASecretIsNotGivenToAJobWithoutOne) {
  const std::jthread first = zero(2, "");
  expect_error(run_job(job(1, 2), check_sum), ExitCode::usage, {"only one of the two has one"});
  expect_to_begin(1, 2, "");
}

TEST_F(Strangers, AHelloThatWasRecordedIsNotBelieved) {
  const std::jthread first = zero(3);
  std::string recorded;
  {
    const Caller rank(port());
    EXPECT_NE(join(rank, tcp::Secret(kJobSecret), {3, 1, 0, 6000, "node7"}, &recorded).job, 0u);
  }
  const Caller replayed(port());
  replayed.hear_frame();
  replayed.say(tcp::frame_of(recorded));
  EXPECT_EQ(replayed.hear_frame(), tcp::HandshakeListener::reply_to_stranger());
  EXPECT_TRUE(replayed.hears_the_end());
  expect_good(run_jobs({job(1, 3), job(2, 3)}, check_sum));
}

// Plays rank 0 with what another meeting has said.
TEST_F(Strangers, AnImpostorOfRankZeroLearnsAndGivesNothing) {
  tcp::HandshakeListener earlier;
  tcp::HandshakeConnector rank{tcp::Secret(kJobSecret)};
  earlier.hello(tcp::Secret(kJobSecret), rank.hello(earlier.greeting(), "hello 2 1 0 6000 node7"));
  const Listener listener;
  std::jthread impostor([&] {
    const Caller caller(listener);
    caller.say(tcp::frame_of(earlier.greeting()));
    EXPECT_EQ(caller.hear_frame().substr(64, 9), "hello 2 1");
    caller.say(tcp::frame_of(earlier.reply(tcp::Secret(kJobSecret), "welcome 77")));
    EXPECT_TRUE(caller.hears_the_end());
  });
  tcp::TcpJob one = job(1, 2);
  one.rendezvous = fmt::format("127.0.0.1:{}", listener.port);
  expect_error(run_job(one, check_sum), ExitCode::usage, {"has another secret"});
}

TEST_F(Strangers, AProofForAnotherRankIsNoUse) {
  const std::jthread first = zero(2);
  const Caller caller(port());
  const tcp::HelloReply reply = join(caller, tcp::Secret(kJobSecret), {2, 1, 3, 6000, "node7"});
  EXPECT_EQ(reply.job, 0u);
  EXPECT_NE(reply.fault.find("rank 1 on node7, which wants rank 3"), std::string::npos)
      << reply.fault;
  expect_to_begin(1, 2);
}

// The other ranks listen as well: with the job's secret and number.
TEST_F(Strangers, RanksProveThemselvesToEachOtherToo) {
  const std::jthread first([this] { run_job(job(0, 3), check_sum); });  // in vain
  const Caller one(port());
  const Listener own;
  const tcp::HelloReply reply = join(one, tcp::Secret(kJobSecret), {3, 1, 0, own.port, "node7"});
  ASSERT_NE(reply.job, 0u);
  const std::jthread second([this] {
    expect_error(run_job(job(2, 3), check_sum), ExitCode::failure,
                 {"rank 2 and rank 1 (node7:", "cannot meet", "has another secret"});
  });
  EXPECT_EQ(tcp::table_in(one.hear_frame(), 3).rows[1].name, fmt::format("node7:{}", own.port));
  tcp::HandshakeListener side;
  const Caller caller(own);
  caller.say(tcp::frame_of(side.greeting()));
  const std::string hello = caller.hear_frame();
  EXPECT_FALSE(side.hello(tcp::Secret(kJobSecret), hello));
  EXPECT_FALSE(side.hello(tcp::Secret(kJobSecret).of_job(reply.job + 1), hello));
  EXPECT_TRUE(side.hello(tcp::Secret(kJobSecret).of_job(reply.job), hello));
  caller.say(tcp::frame_of(side.reply(tcp::Secret(kJobSecret), "welcome 1")));
}

// Rank 2 of 3 by itself: the test plays rank 0, whose table names `nobody` as rank 1.
void expect_no_connection(tcp::TcpJob two, const tcp::Address& nobody, const std::string& why) {
  const Listener own;
  const tcp::Address any{"127.0.0.1", own.port};
  const std::jthread zero([&] {
    const Caller caller(own);
    tcp::HandshakeListener side;
    caller.say(tcp::frame_of(side.greeting()));
    EXPECT_TRUE(side.hello(tcp::Secret(kJobSecret), caller.hear_frame()));
    caller.say(
        tcp::frame_of(side.reply(tcp::Secret(kJobSecret), text_of(tcp::HelloReply{77, ""}))) +
        tcp::frame_of(text_of(tcp::RankTable{{{"a:1", any}, {"b:2", nobody}, {"c:3", any}}, ""})));
    EXPECT_TRUE(caller.hears_the_end());
  });
  two.rendezvous = any.str();
  expect_error(
      run_job(two, check_sum), ExitCode::failure,
      {"rank 2 cannot connect to rank 1: " + nobody.str() + ": " + why, "is there a firewall"});
}

TEST_F(Strangers, ARankThatNobodyListensForIsNamedAtOnce) {
  expect_no_connection(job(2, 3), {"127.0.0.1", free_port()}, "Connection refused");
}

// As while a switch starts again. To a broadcast address there is never a way.
TEST_F(Strangers, ARankThatNoWayLeadsToIsTriedAgain) {
  tcp::TcpJob two = job(2, 3);
  two.timeout = 1;
  const auto begun = std::chrono::steady_clock::now();
  expect_no_connection(two, {"255.255.255.255", 4711}, "Network is unreachable");
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
}

TEST_F(Strangers, OtherHostsAreNotListenedToWithoutASecret) {
  for (const char* address : {"0.0.0.0:4711", "node7:4711", "[::]:4711", "127.example.org:4711"})
    for (const int rank : {0, 1})
      expect_error(run_job(job_at(rank, 2, address, 5), check_sum), ExitCode::usage,
                   {fmt::format("SKEIN_RENDEZVOUS={} can be reached from other hosts", address),
                    "SKEIN_RENDEZVOUS_SECRET", "SKEIN_RENDEZVOUS_OPEN=1"});
}

TEST_F(Strangers, ASecretThatCouldBeGuessedIsRefused) {
  expect_error(run_job(job(0, 2, "0123456789abcde"), check_sum), ExitCode::usage,
               {"has 15 bytes", "16 or more", "openssl rand"});
}

TEST_F(Strangers, TheFileOfAMeetingIsItsOwnersAlone) {
  std::ofstream(path() + ".victim") << "of somebody";
  std::filesystem::create_symlink(path() + ".victim", path());
  std::jthread first([this] { EXPECT_EQ(run_job(job_at(0, 2, file()), check_sum).text, ""); });
  struct stat found {};
  for (int turn = 0; turn < 1000 && !S_ISREG(found.st_mode); ++turn, pause(5))
    lstat(path().c_str(), &found);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  EXPECT_GE(tcp::record_in(tcp::read_private(path())).secret.size(), 32u);  // 4 bits a digit
  EXPECT_EQ(std::filesystem::file_size(path() + ".victim"), 11u);
  EXPECT_EQ(run_job(job_at(1, 2, file()), check_sum).text, "");
}

TEST_F(Strangers, AFileThatOthersCanReadIsNotBelieved) {
  std::ofstream(path()) << text_of(
      tcp::RendezvousRecord{{{"127.0.0.1", port()}}, 77, 2, std::string(64, '0')});
  chmod(path().c_str(), 0644);
  expect_error(run_job(job_at(1, 2, file(), 0.3), check_sum), ExitCode::failure,
               {"has not met rank 0", "has mode 0644", "0600"});
}

// One address of a rank 0 answers, the other does not.
TEST_F(Strangers, WhatAnAddressSaysIsNotLostAtTheNext) {
  const std::string refusal = tcp::frame_of(tcp::HandshakeListener().greeting()) +
                              tcp::frame_of(tcp::HandshakeListener::reply_to_stranger());
  for (const auto& [words, reason] : {std::pair{refusal, "another secret"},
                                      {bytes_of_head(head_of(32, 9)), "speaks version 9"}}) {
    const Listener listener;
    const tcp::RendezvousRecord record{
        {{"127.0.0.1", listener.port}, {"127.0.0.1", free_port()}}, 77, 2, "s"};
    tcp::write_private(path(), text_of(record));
    const std::jthread other([&] {
      const Caller caller(listener);
      caller.say(words);
      caller.hear(4096);
    });
    expect_error(run_job(job_at(1, 2, file(), 0.4), check_sum), ExitCode::failure,
                 {"has not met rank 0", reason});
  }
}

TEST_F(Strangers, WhoDoesNotGreetMayBeOfAnOlderBuild) {
  const Listener silent;
  const std::string address = fmt::format("127.0.0.1:{}", silent.port);
  expect_error(run_job(job_at(1, 2, address, 0.3), check_sum), ExitCode::failure,
               {address + ": it did not greet within 0.3 s", "a rank of an older build?"});
}

TEST_F(Strangers, AFileAndASecretAreBothNeeded) {
  tcp::TcpJob with = job_at(1, 2, file(), 0.6), zero = job_at(0, 2, file());
  with.secret = "another-secret-16";
  zero.secret = kJobSecret;
  std::jthread first([&] { EXPECT_EQ(run_job(zero, check_sum).text, ""); });
  expect_error(run_job(with, check_sum), ExitCode::failure,
               {"has not met rank 0", "another secret"});
  with.secret = kJobSecret;
  with.timeout = 60;
  EXPECT_EQ(run_job(with, check_sum).text, "");
}

}  // namespace
}  // namespace skein
