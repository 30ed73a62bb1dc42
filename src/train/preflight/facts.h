// Findings of what a machine said, for those who asked it and for tests, which say it themselves.
#pragma once

#include <string>
#include <vector>

#include "skein/tensor/cuda.h"
#include "skein/train/preflight/doctor.h"

namespace skein::train {

struct GpuFacts {
  std::string name;
  cuda::Memory memory;
  int capability = 0;  // 90 for 9.0
};

struct GpusFacts {
  bool built_in = false;  // the build has kernels for GPUs
  cuda::Driver driver;
  std::string loaded;  // what the kernel's module says of itself; "" where there is none
  std::string nccl;    // its version; "" in a build without it
  std::vector<GpuFacts> gpus;
};

// A finding a GPU, or why there is none, and one of NCCL.
std::vector<Finding> judge_gpus(const GpusFacts& facts);
// By what the clocks of all ranks said at one moment, in seconds.
Finding judge_clocks(const std::vector<double>& times);

}  // namespace skein::train
