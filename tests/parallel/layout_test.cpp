#include "skein/parallel/layout.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/tensor/cuda.h"

namespace skein {
namespace {

TEST(Layout, TheTimeoutIsAnOptionOfAtLeastZeroSeconds) {
  ParallelConfig config;
  EXPECT_EQ(config.timeout, -1);
  Options options("test", "");
  bind(options, config);
  options.read_ini("[parallel]\ntimeout = 0\n", "run.ini");
  EXPECT_EQ(config.timeout, 0);
  EXPECT_NO_THROW(mesh_shape(config, 1));
  config.timeout = -2;
  try {
    mesh_shape(config, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("parallel.timeout=-2 must be at least 0"),
              std::string::npos)
        << error.what();
  }
}

TEST(Layout, WhatNoJobCanHoldIsRefusedByItsNumbers) {
  const auto refused = [](const std::function<void()>& call, const std::string& words) {
    const std::string found = refusal_of(call);
    EXPECT_NE(found.find(words), std::string::npos) << found;
  };
  ParallelConfig config;
  config.pipeline = config.tensor = 65536;
  refused([&] { check_shape(1, mesh_shape(config, 1)); }, "needs 4294967296 ranks");
  refused(
      [] {
        plan_batch({}, {1, 1, 1}, int64_t{1} << 31, 1);
      },
      "train.global_batch=2147483648 must be 1 to 2147483647");
  refused([] { check_schedule_fits(ScheduleKind::interleaved, 2, 2, 1 << 30); },
          "parallel.chunks is 1073741824; it must be 1 to 1073741823 with parallel.pipeline=2");
}

// Each sample of a pass, and of a step, is one rank's.
TEST(Layout, DataParallelRanksShareOutSamples) {
  std::vector<std::atomic<int>> passed(23), stepped(24), strided(24);
  run_ranks(6, [&](Group& world) {
    const Mesh mesh(world, {.pp = 1, .dp = 3, .tp = 2});
    if (mesh.tp().rank() > 0) return;
    const BatchStride turns = batch_stride(mesh, 4);
    for (int64_t first = turns.first; first < 23; first += turns.apart)
      for (int64_t i = first; i < std::min<int64_t>(first + 4, 23); ++i)
        ++passed[static_cast<size_t>(i)];
    BatchPlan plan;
    plan.samples_per_rank = 8;
    for (auto* times : {&stepped, &strided}) {
      plan.strided = times == &strided;
      plan.groups_per_rank = 4;
      const data::SampleRange own = plan.own_samples(mesh);
      EXPECT_EQ(own.count, 8);
      EXPECT_EQ(own[1], mesh.dp().rank() * (plan.strided ? 2 : 8) + 1);
      EXPECT_EQ(own[2], mesh.dp().rank() * (plan.strided ? 2 : 8) + (plan.strided ? 6 : 2));
      for (int64_t i = 0; i < 8; ++i) ++(*times)[static_cast<size_t>(own[i])];
    }
    int taken = 0;
    for (int64_t turn = 0; turn < 7; ++turn) taken += mesh.dp().takes(turn);
    EXPECT_EQ(taken, mesh.dp().rank() == 0 ? 3 : 2);
    EXPECT_TRUE(mesh.dp().takes(mesh.dp().rank() + 3));
  });
  for (const auto* all : {&passed, &stepped, &strided})
    for (const auto& times : *all) EXPECT_EQ(times, 1);
}

TEST(Layout, AFittingMicroBatchIsTheLargestThatDivides) {
  const auto fitting = [](int64_t batch, int64_t most, int dp = 1, int64_t groups = 0) {
    ParallelConfig config;
    config.reduction_groups = groups;
    return fitting_micro_batch(config, {1, dp, 1}, batch, most);
  };
  EXPECT_EQ(fitting(64, 8), 8) << "it divides already";
  EXPECT_EQ(fitting(10, 8), 5) << "two groups of 5";
  EXPECT_EQ(fitting(24, 4), 3) << "four groups of 6";
  EXPECT_EQ(fitting(6, 4, 1, 1), 3) << "one group of 6";
  EXPECT_EQ(fitting(7, 4), 1);
  EXPECT_EQ(fitting(48, 8, 8), 6) << "eight groups of 6";
  EXPECT_EQ(fitting(10, 8, 4), 8) << "no micro-batch fits: plan_batch says why";
  EXPECT_EQ(fitting(64, 64), 64) << "all four groups";
  EXPECT_EQ(fitting(64, 40), 32) << "two of four groups";
  EXPECT_EQ(fitting(24, 10, 1, 12), 8) << "four of twelve groups, not five";
  EXPECT_EQ(fitting(36, 100, 3, 18), 12) << "the six groups of a rank";
  EXPECT_EQ(fitting(24, 100, 2, 12), 4) << "two of six groups, which ranks take in turn";
  for (int64_t batch = 1; batch <= 64; ++batch)
    for (int64_t most : {1, 3, 8, 20, 64})
      EXPECT_NO_THROW(plan_batch({}, {1, 1, 1}, batch, fitting(batch, most))) << batch << most;
}

TEST(Layout, ABuildWithoutGpuKernelsSaysHowToBuildThem) {
  if (cuda::built_in()) GTEST_SKIP() << "this build has GPU kernels";
  EXPECT_NO_THROW(require_kernels(DeviceKind::cpu));
  try {
    device_of(DeviceKind::cuda);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("no GPU kernels; build them with `launch/build cuda`"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace skein
