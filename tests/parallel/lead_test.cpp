// Forward passes over stages of different speed.
#include "skein/parallel/lead.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "skein/comm/local.h"

#include "comm/tcp_fixture.h"

namespace skein {
namespace {

// The most passes that stage 0 was ahead of stage 1, which takes its time.
int64_t lead_of_first(int64_t passes, int rounds) {
  std::atomic<int64_t> first = 0, second = 0, most = 0;
  run_ranks(2, [&](Group& world) {
    Mesh mesh(world, {2, 1, 1});
    for (int round = 0; round < rounds; ++round) {
      ForwardLead lead(mesh);
      for (int64_t i = 0; i < passes; ++i) {
        lead.before();
        if (mesh.first_stage()) most = std::max<int64_t>(most, ++first - second);
        if (mesh.last_stage()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (mesh.last_stage()) ++second;
        lead.after();
      }
      lead.finish();
      if (mesh.first_stage()) {
        EXPECT_GE(second.load(), first.load());
      }
    }
  });
  return most;
}

TEST(ForwardLead, NoStageRunsFarAhead) {
  EXPECT_LE(lead_of_first(40, 3), kForwardLead);
  EXPECT_LE(lead_of_first(2, 3), 2);
  EXPECT_EQ(lead_of_first(0, 2), 0);
}

TEST(ForwardLead, ManyStagesComeToTheEnd) {
  run_ranks(4, [](Group& world) {
    Mesh mesh(world, {4, 1, 1});
    ForwardLead lead(mesh);
    for (int i = 0; i < 25; ++i) {
      lead.before();
      int value = i;
      auto* bytes = reinterpret_cast<std::byte*>(&value);
      if (!mesh.first_stage()) mesh.pp().recv_bytes(bytes, 4, mesh.stage() - 1, 0).wait();
      EXPECT_EQ(value, i);
      if (!mesh.last_stage()) mesh.pp().send_bytes(bytes, 4, mesh.stage() + 1, 0).wait();
      lead.after();
    }
    lead.finish();
  });
}

// Ten passes would be more than the second stage keeps.
class LeadOverTcp : public test::Tcp {};

TEST_F(LeadOverTcp, WhatIsAheadCanBeKept) {
  std::vector<tcp::TcpJob> jobs{test::job_at(0, 2, file()), test::job_at(1, 2, file())};
  for (tcp::TcpJob& job : jobs) job.most_unasked = 1 << 20;
  test::expect_good(test::run_jobs(jobs, [](Group& world) {
    const Mesh mesh(world, {2, 1, 1});
    ForwardLead lead(mesh);
    std::vector<std::byte> flow(100'000);
    const auto bytes = static_cast<int64_t>(flow.size());
    for (int pass = 0; pass < 60; ++pass) {
      lead.before();
      if (mesh.last_stage()) test::pause(2);
      if (mesh.last_stage()) mesh.pp().recv_bytes(flow.data(), bytes, 0, 0).wait();
      if (mesh.first_stage()) mesh.pp().send_bytes(flow.data(), bytes, 1, 0).wait();
      lead.after();
    }
    lead.finish();
  }));
}

TEST(ForwardLead, OneStageWaitsForNobody) {
  run_ranks(1, [](Group& world) {
    Mesh mesh(world, {1, 1, 1});
    ForwardLead lead(mesh);
    for (int i = 0; i < 10; ++i) lead.before(), lead.after();
    lead.finish();
  });
}

// What an interrupted one leaves would be taken for news of the next.
TEST(ForwardLead, IsInterruptedWithNothingUnderWay) {
  std::atomic<int64_t> first = 0, second = 0, most = 0;
  run_ranks(2, [&](Group& world) {
    Mesh mesh(world, {2, 1, 1});
    int64_t passes = 0;
    Meeting meeting(world, [&] { return passes >= 7; });
    try {
      ForwardLead lead(mesh, &meeting);
      for (;; ++passes) lead.before(), lead.after();
    } catch (const Interruption&) {
    }
    EXPECT_GE(passes, 7);
    ForwardLead lead(mesh);
    for (int i = 0; i < 20; ++i) {
      lead.before();
      if (mesh.first_stage()) most = std::max<int64_t>(most, ++first - second);
      if (mesh.last_stage()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (mesh.last_stage()) ++second;
      lead.after();
    }
    lead.finish();
  });
  EXPECT_LE(most, kForwardLead);
}

}  // namespace
}  // namespace skein
