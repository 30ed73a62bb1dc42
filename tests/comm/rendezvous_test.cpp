// How ranks over TCP meet, and what they are told when they do not.
#include <netdb.h>
#include <sys/wait.h>

#include "skein/comm/tcp/private_file.h"

#include "comm/tcp_fixture.h"
#include "support/size_limit.h"

namespace skein {
namespace {

using namespace test;

std::vector<tcp::TcpJob> jobs_of(const std::vector<std::pair<int, int>>& rank_and_ranks,
                                 const std::string& rendezvous, double timeout) {
  std::vector<tcp::TcpJob> jobs;
  for (const auto& [rank, ranks] : rank_and_ranks)
    jobs.push_back({.rank = rank, .ranks = ranks, .rendezvous = rendezvous, .timeout = timeout});
  return jobs;
}

void expect_refused(const std::string& rendezvous, const std::vector<std::string>& words) {
  for (const int rank : {0, 1}) {
    const Ended ended =
        run_job({.rank = rank, .ranks = 2, .rendezvous = rendezvous, .timeout = 5}, check_sum);
    expect_error(ended, ExitCode::usage, words);
    expect_error(ended, ExitCode::usage, {"SKEIN_RENDEZVOUS=" + rendezvous});
  }
}

TEST_F(Tcp, MeetsAtAnAddress) {
  expect_good(run_tcp(3, fmt::format("127.0.0.1:{}", free_port()), check_sum));
}

TEST_F(Tcp, MeetsAtAnAddressThatOtherHostsReach) {
  for (const std::string secret : {"", "0123456789abcdef"}) {
    std::vector<tcp::TcpJob> jobs =
        jobs_of({{0, 3}, {1, 3}, {2, 3}}, fmt::format("0.0.0.0:{}", free_port()), 60);
    for (tcp::TcpJob& job : jobs) job.secret = secret, job.open = secret.empty();
    expect_good(run_jobs(jobs, check_sum));
  }
}

TEST_F(Tcp, MeetsAtAName) {
  addrinfo* found = nullptr;
  if (getaddrinfo("localhost", nullptr, nullptr, &found) != 0)
    GTEST_SKIP() << "this host does not know the name localhost; /etc/hosts says it elsewhere";
  freeaddrinfo(found);
  expect_good(run_tcp(3, fmt::format("localhost:{}", free_port()), check_sum));
}

TEST_F(Tcp, MeetsAtAnAddressOfIpv6) {
  const int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool has_six =
      probe >= 0 && bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  if (probe >= 0) close(probe);
  if (!has_six) GTEST_SKIP() << "this host has no IPv6";
  expect_good(run_tcp(3, fmt::format("[::1]:{}", free_port()), check_sum));
}

TEST_F(Tcp, RanksMayComeInAnyOrder) {
  const std::string address = fmt::format("127.0.0.1:{}", free_port());
  for (const std::string& rendezvous : {file(), address}) {
    std::vector<std::jthread> threads;
    for (const int rank : {2, 1, 0}) {
      threads.emplace_back([&, rank] {
        EXPECT_EQ(
            run_job({.rank = rank, .ranks = 3, .rendezvous = rendezvous, .timeout = 60}, check_sum)
                .text,
            "");
      });
      pause(120);
    }
  }
}

TEST_F(Tcp, AFileServesOneJobAfterTheOtherAndIsNotLeft) {
  for (int turn = 0; turn < 3; ++turn) {
    expect_good(run_tcp(3, file(), check_sum));
    EXPECT_FALSE(std::filesystem::exists(path()));
  }
}

TEST_F(Tcp, AStaleFileMisleadsNobody) {
  for (const std::string& text :
       {fmt::format("skein rendezvous 2\n2 77 s\n127.0.0.1 {}\nend\n", free_port()),
        std::string("skein rendezvous 2\n4 77 s\n127.0.0.1 1\nend\n"),
        std::string("skein rendezvous 2\n2 7"),
        std::string("skein rendezvous 1\n2 77\n127.0.0.1 1\nend\n"),
        std::string("of something else"), std::string()}) {
    tcp::write_private(path(), text);
    std::jthread late([&] {
      EXPECT_EQ(run_job(jobs_of({{1, 2}}, file(), 60)[0], check_sum).text, "");
    });
    pause(150);
    EXPECT_EQ(run_job(jobs_of({{0, 2}}, file(), 60)[0], check_sum).text, "") << text;
  }
}

TEST_F(Tcp, AStaleFileThatNamesAnotherJobMisleadsNobody) {
  const int port = free_port();
  std::jthread other([&] {
    expect_good(run_jobs(jobs_of({{0, 2}}, fmt::format("127.0.0.1:{}", port), 60), check_sum));
  });
  tcp::write_private(path(), fmt::format("skein rendezvous 2\n2 77 s\n127.0.0.1 {}\nend\n", port));
  std::jthread misled([&] {
    EXPECT_EQ(run_job(jobs_of({{1, 2}}, file(), 60)[0], check_sum).text, "");
  });
  pause(200);
  EXPECT_EQ(run_job(jobs_of({{0, 2}}, file(), 60)[0], check_sum).text, "");
  EXPECT_EQ(run_job(jobs_of({{1, 2}}, fmt::format("127.0.0.1:{}", port), 60)[0], check_sum).text,
            "");
}

TEST_F(Tcp, ARankOfAJobOfAnotherSizeIsRefused) {
  const std::string address = fmt::format("127.0.0.1:{}", free_port());
  std::jthread zero([&] {
    EXPECT_EQ(run_job(jobs_of({{0, 2}}, address, 60)[0], check_sum).text, "");
  });
  expect_error(run_job(jobs_of({{1, 3}}, address, 60)[0], check_sum), ExitCode::usage,
               {"refuses rank 1", "started for a job of 3 ranks", "for one of 2",
                "give all the same number"});
  EXPECT_EQ(run_job(jobs_of({{1, 2}}, address, 60)[0], check_sum).text, "");
}

TEST_F(Tcp, ARankOfAJobOfAnotherSizeIsToldInTheFileToo) {
  const auto ended = run_jobs(jobs_of({{0, 2}, {1, 3}}, file(), 1.5), check_sum);
  expect_error(ended[0], ExitCode::failure, {"rank 0 has arrived", "rank 1 has not"});
  expect_error(ended[1], ExitCode::failure,
               {"has not met rank 0", "job of 2 ranks", "started for 3"});
}

TEST_F(Tcp, ARankThatIsThereTwiceIsRefused) {
  const std::string address = fmt::format("127.0.0.1:{}", free_port());
  std::jthread zero([&] {
    EXPECT_EQ(run_job(jobs_of({{0, 3}}, address, 60)[0], check_sum).text, "");
  });
  std::jthread one([&] {
    EXPECT_EQ(run_job(jobs_of({{1, 3}}, address, 60)[0], check_sum).text, "");
  });
  pause(300);
  expect_error(run_job(jobs_of({{1, 3}}, address, 60)[0], check_sum), ExitCode::usage,
               {"rank 1 has come already, from", "its own rank"});
  EXPECT_EQ(run_job(jobs_of({{2, 3}}, address, 60)[0], check_sum).text, "");
}

TEST_F(Tcp, ATimeoutNamesThoseWhoAreMissing) {
  for (const std::string& rendezvous : {file(), fmt::format("127.0.0.1:{}", free_port())}) {
    const auto ended = run_jobs(jobs_of({{0, 4}, {2, 4}}, rendezvous, 1), check_sum);
    for (const Ended& each : ended)
      expect_error(each, ExitCode::failure,
                   {"after 1 s ranks 0, 2 have arrived", rendezvous, "ranks 1, 3 have not",
                    "SKEIN_RENDEZVOUS_TIMEOUT"});
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Tcp, ATimeoutWithoutRankZeroSaysWhatWasTried) {
  const std::string address = fmt::format("127.0.0.1:{}", free_port());
  expect_error(run_job(jobs_of({{1, 2}}, address, 0.5)[0], check_sum), ExitCode::failure,
               {"rank 1 has not met rank 0", address, "0.5 s", "refused"});
  expect_error(run_job(jobs_of({{1, 2}}, file(), 0.5)[0], check_sum), ExitCode::failure,
               {"rank 1", file(), "does not exist yet"});
}

TEST_F(Tcp, ARankThatIsLostOnTheWayMayComeAgain) {
  const std::string address = fmt::format("127.0.0.1:{}", free_port());
  const pid_t child = fork();
  if (child == 0) {
    run_job(jobs_of({{1, 3}}, address, 60)[0], check_sum);
    _exit(0);
  }
  std::jthread zero([&] {
    EXPECT_EQ(run_job(jobs_of({{0, 3}}, address, 60)[0], check_sum).text, "");
  });
  pause(300);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  expect_good(run_jobs(jobs_of({{1, 3}, {2, 3}}, address, 60), check_sum));
}

TEST_F(Tcp, APortThatIsTakenIsNamed) {
  const Listener taken;
  expect_error(run_job(jobs_of({{0, 2}}, fmt::format("127.0.0.1:{}", taken.port), 5)[0], check_sum),
               ExitCode::failure, {fmt::format("port {}", taken.port), "Address already in use"});
}

TEST_F(Tcp, AddressesThatAreNoneAreRefused) {
  for (const char* text :
       {"node7", "node7:", ":4711", "node7:0", "node7:65536", "node7:47x", "::1:4711", ""})
    expect_refused(text, {"write host:port", "1 to 65535", "file:///path"});
}

TEST_F(Tcp, AJobOfOneRankHasAGoodAddressToo) {
  expect_error(run_job(job_at(0, 1, "node7"), check_sum), ExitCode::usage,
               {"SKEIN_RENDEZVOUS=node7 is no rendezvous"});
  EXPECT_EQ(run_job(job_at(0, 1, "node7:4711"), check_sum).text, "");
}

TEST_F(Tcp, FilesThatCannotBeAreRefused) {
  expect_refused("file:relative/path", {"no absolute path", "file:///path"});
  expect_refused(file() + "/no/such", {"there is no folder " + path() + "/no", "all ranks see"});
  std::filesystem::create_directory(path());
  expect_refused(file(), {"is a folder", "name a file in it"});
}

TEST_F(Tcp, AFileThatCannotBeWrittenIsRefused) {
  const Ended ended =
      run_job({.rank = 0, .ranks = 2, .rendezvous = "file:///proc/skein", .timeout = 5}, check_sum);
  expect_error(ended, ExitCode::usage,
               {"SKEIN_RENDEZVOUS=file:///proc/skein cannot be written by rank 0",
                "name a file in a folder"});
}

TEST_F(Tcp, StorageThatFailsIsNoMistakeOfTheUser) {
  std::filesystem::create_symlink(path() + ".circle", path() + ".circle");
  for (const int rank : {0, 1})
    expect_error(run_job(job_at(rank, 2, file() + ".circle/file", 5), check_sum), ExitCode::failure,
                 {path() + ".circle cannot be looked at on host", "Too many levels"});
  const SizeLimit full(0);
  expect_error(run_job(job_at(0, 2, file(), 5), check_sum), ExitCode::failure,
               {"SKEIN_RENDEZVOUS=" + file() + " cannot be written by rank 0", "File too large"});
}

TEST_F(Tcp, RanksThatAreNoneAreRefused) {
  for (const auto& [rank, ranks] : std::vector<std::pair<int, int>>{{2, 2}, {-1, 2}, {0, 0}})
    expect_error(run_job(jobs_of({{rank, ranks}}, file(), 5)[0], check_sum), ExitCode::usage,
                 {fmt::format("rank {} of {}", rank, ranks)});
}

}  // namespace
}  // namespace skein
