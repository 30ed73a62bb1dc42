#include "skein/parallel/layout.h"

#include <gtest/gtest.h>

#include "skein/tensor/cuda.h"

namespace skein {
namespace {

TEST(Layout, TheTimeoutIsAnOptionOfAtLeastZeroSeconds) {
  ParallelConfig config;
  EXPECT_EQ(config.timeout, 600);
  Options options("test", "");
  bind(options, config);
  options.read_ini("[parallel]\ntimeout = 0\n", "run.ini");
  EXPECT_EQ(config.timeout, 0);
  EXPECT_NO_THROW(mesh_shape(config, 1));
  config.timeout = -1;
  try {
    mesh_shape(config, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find("parallel.timeout=-1 must be at least 0"),
              std::string::npos)
        << error.what();
  }
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
  for (int64_t batch = 1; batch <= 64; ++batch)
    EXPECT_NO_THROW(plan_batch({}, {1, 1, 1}, batch, fitting(batch, 8))) << batch;
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
