#include "skein/parallel/layout.h"

#include <gtest/gtest.h>

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
    EXPECT_NE(std::string(error.what()).find("parallel.timeout=-1 must be at least 0"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace skein
