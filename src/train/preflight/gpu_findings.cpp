#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "skein/core/strings.h"

#include "facts.h"

namespace skein::train {
namespace {

constexpr int kLeastCapability = 80;
constexpr const char* kBuildForGpus = "launch/build cuda makes one, build/cuda/bin/skein";

std::string cuda_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

// By one of CMake's CUDA_ARCHITECTURES: 90-real is machine code, for 9.0 and later minors of 9;
// 90-virtual is code that the driver compiles, for all from 9.0 on; 90 is both; 90a, with whatever
// follows, is for 9.0 alone. Words such as native name no number.
bool runs_by(const std::string& architecture, int capability, bool compiles) {
  char* rest = nullptr;
  const auto number = static_cast<int>(std::strtol(architecture.c_str(), &rest, 10));
  if (number == 0) return true;
  const std::string kind = rest;
  if (!kind.empty() && kind.front() != '-') return capability == number;
  if (capability < number) return false;
  return (kind != "-virtual" && capability / 10 == number / 10) || (kind != "-real" && compiles);
}

// A driver compiles code of no newer CUDA than its own.
bool has_kernels(const cuda::Driver& driver, int capability) {
  std::istringstream all(driver.architectures);
  for (std::string one; std::getline(all, one, ',');)
    if (runs_by(one, capability, driver.newest >= driver.built)) return true;
  return false;
}

void explain(const cuda::Driver& driver, Finding& finding) {
  if (driver.too_old) {
    finding.text += fmt::format("it runs CUDA up to {}, and this build has {}",
                                cuda_text(driver.newest), cuda_text(driver.built));
    finding.advice =
        "parallel.device=cuda fails here: install a newer driver, or build with an older CUDA "
        "(docs/gpu.md)";
  } else if (driver.newest == 0) {
    finding.text += "its library, libcuda.so.1, is not found";
    finding.advice = "in a container: docker run --gpus all, apptainer exec --nv";
  } else {
    finding.text += "CUDA finds no device: " + driver.error;
    finding.advice = "look at CUDA_VISIBLE_DEVICES and nvidia-smi";
  }
}

Finding no_gpus(const GpusFacts& facts) {
  Finding made{.about = "GPUs", .text = "none"};
  if (!facts.built_in) made.text += ", and this build has no kernels for them";
  if (facts.loaded.empty() && facts.driver.newest == 0) return made;
  made.grade = Grade::note;
  made.text = facts.loaded.empty() ? "there is a driver, but "
                                   : fmt::format("there is a driver ({}), but ", facts.loaded);
  if (facts.built_in) {
    explain(facts.driver, made);
  } else {
    made.text += "this build has no kernels for GPUs";
    made.advice = kBuildForGpus;
  }
  return made;
}

Finding judge_gpu(const cuda::Driver& driver, const GpuFacts& gpu, int index) {
  Finding made{.grade = Grade::note,
               .about = fmt::format("GPU {}", index),
               .text = fmt::format("{}, {} free", gpu.name, readable_size(gpu.memory.free))};
  if (!has_kernels(driver, gpu.capability)) {
    made.text += fmt::format(", compute capability {}, for which this build has no kernels ({})",
                             capability_text(gpu.capability), driver.architectures);
    made.advice = gpu.capability < kLeastCapability
                      ? "parallel.device=cuda fails on it, and kernels here need 8.0: hide it "
                        "(CUDA_VISIBLE_DEVICES)"
                      : fmt::format(
                            "parallel.device=cuda fails on it: cmake --preset cuda "
                            "-DCMAKE_CUDA_ARCHITECTURES={} && cmake --build --preset cuda",
                            gpu.capability);
  } else if (gpu.memory.free <= gpu.memory.total / 2) {
    made.advice = "another process has most of its memory (nvidia-smi)";
  } else {
    made.grade = Grade::good;
  }
  return made;
}

Finding judge_nccl(const GpusFacts& facts) {
  Finding made{.about = "NCCL", .text = facts.nccl};
  if (!facts.nccl.empty()) return made;
  made.text = "none in this build; ranks on GPUs exchange by it";
  if (facts.loaded.empty()) return made;
  made.grade = Grade::note;
  made.advice = kBuildForGpus;
  return made;
}

}  // namespace

std::vector<Finding> judge_gpus(const GpusFacts& facts) {
  std::vector<Finding> made;
  for (size_t i = 0; i < facts.gpus.size(); ++i)
    made.push_back(judge_gpu(facts.driver, facts.gpus[i], static_cast<int>(i)));
  if (made.empty()) made.push_back(no_gpus(facts));
  made.push_back(judge_nccl(facts));
  return made;
}

}  // namespace skein::train
