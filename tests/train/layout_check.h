// The promise of equal bits, as the tests of layouts hold a run to it.
#pragma once

#include <gtest/gtest.h>

#include "train/train_fixture.h"

namespace skein::train {

// How a run is divided.
struct RunSplit {
  int data = 1, pipeline = 1;
  int64_t micro_batch = 1;
  bool zero = false;

  int ranks() const { return data * pipeline; }
  PretrainConfig of(PretrainConfig config) const {
    config.parallel.pipeline = pipeline;
    config.parallel.zero = zero;
    config.train.micro_batch = micro_batch;
    return config;
  }
};

// A run of `ranks` ranks that must have the losses, norms, validation and state of `expected`, bit
// for bit.
inline void expect_equal_run(const PretrainConfig& config, int ranks, const test::Scratch& folder,
                             const Finished& expected) {
  static int runs = 0;
  const std::string name = fmt::format("run{}", runs++);
  const Finished found = train(config, ranks, folder, name);
  EXPECT_EQ(found.losses, expected.losses);
  EXPECT_EQ(found.grad_norms, expected.grad_norms);
  EXPECT_EQ(found.validation, expected.validation);
  EXPECT_EQ(first_difference(found.state, expected.state), "");
  std::filesystem::remove_all(folder.file(name));
}

inline void expect_equal_runs(const PretrainConfig& config, const std::vector<RunSplit>& splits,
                              const test::Scratch& folder, const Finished& expected) {
  for (const RunSplit& split : splits)
    expect_equal_run(split.of(config), split.ranks(), folder, expected);
}

}  // namespace skein::train
