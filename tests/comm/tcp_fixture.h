// Ranks over TCP as threads of one process.
#pragma once

#include <arpa/inet.h>
#include <functional>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "skein/comm/tcp/tcp.h"

#include "support/scratch.h"

namespace skein::test {

std::byte* bytes_of(auto& value) { return reinterpret_cast<std::byte*>(&value); }

class Tcp : public testing::Test {
 protected:
  std::string path() const { return folder_.file("rendezvous"); }
  std::string file() const { return "file://" + path(); }

 private:
  Scratch folder_;
};

inline sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// For what comes, be it bytes or a connection.
inline void wait_at_most(int descriptor, int seconds) {
  const timeval longest{seconds, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
}

// A listener of no job, and its port; closed at the end, when nobody listens there any more.
struct Listener {
  Listener() : descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(descriptor, 8), 0);
    wait_at_most(descriptor, 20);
    getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
    port = ntohs(address.sin_port);
  }
  ~Listener() { close(descriptor); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int descriptor;
  int port = 0;
};

inline int free_port() { return Listener().port; }

struct Ended {
  ExitCode code = ExitCode::done;
  std::string text;  // of the error
};

inline Ended run_job(const tcp::TcpJob& job, const std::function<void(Group&)>& body) {
  try {
    body(*start_tcp(job));
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::exception& error) {
    return {ExitCode::internal, error.what()};
  }
  return {};
}

// Each job on its own thread.
inline std::vector<Ended> run_jobs(const std::vector<tcp::TcpJob>& jobs,
                                   const std::function<void(Group&)>& body) {
  std::vector<Ended> ended(jobs.size());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < jobs.size(); ++i)
    threads.emplace_back([&, i] { ended[i] = run_job(jobs[i], body); });
  threads.clear();
  return ended;
}

// Of a job without a secret.
inline tcp::TcpJob job_at(int rank, int ranks, const std::string& rendezvous, double timeout = 60) {
  return {.rank = rank, .ranks = ranks, .rendezvous = rendezvous, .timeout = timeout};
}

inline std::vector<Ended> run_tcp(int ranks, const std::string& rendezvous,
                                  const std::function<void(Group&)>& body) {
  std::vector<tcp::TcpJob> jobs;
  for (int r = 0; r < ranks; ++r)
    jobs.push_back({.rank = r, .ranks = ranks, .rendezvous = rendezvous, .timeout = 60});
  return run_jobs(jobs, body);
}

inline void expect_good(const std::vector<Ended>& ended) {
  for (size_t r = 0; r < ended.size(); ++r) EXPECT_EQ(ended[r].text, "") << "rank " << r;
}

inline void expect_error(const Ended& ended, ExitCode code, const std::vector<std::string>& words) {
  EXPECT_EQ(static_cast<int>(ended.code), static_cast<int>(code)) << ended.text;
  for (const std::string& word : words)
    EXPECT_NE(ended.text.find(word), std::string::npos) << word << " in: " << ended.text;
}

inline void check_sum(Group& group) {
  EXPECT_EQ(group.sum(int64_t{group.rank()}), group.size() * (group.size() - 1) / 2);
}

inline void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace skein::test
