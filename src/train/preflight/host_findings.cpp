#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "skein/comm/device_transport.h"
#include "skein/core/host.h"
#include "skein/core/strings.h"
#include "skein/kernels/threads.h"
#include "skein/kernels/units.h"
#include "skein/tensor/cuda.h"
#include "skein/train/preflight/doctor.h"

#include "facts.h"

namespace skein::train {
namespace {

constexpr int64_t kMiB = 1 << 20, kGiB = 1 << 30;

int own_cpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  return ::sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

Finding processors(const HostLimits& limits) {
  const int own = own_cpus(), threads = kernels::threads();
  Finding made{.about = "processors",
               .text = fmt::format("{} CPUs, {} of them for this rank, which takes {} threads",
                                   ::sysconf(_SC_NPROCESSORS_ONLN), own, threads)};
  if (limits.cores > 0)
    made.text += fmt::format("; a cgroup gives the time of {:.3g}", limits.cores);
  const double most = limits.cores > 0 ? std::min<double>(own, limits.cores) : own;
  if (threads <= std::max(1.0, most)) return made;
  made.grade = Grade::note;
  made.advice = fmt::format("threads wait for each other: set OMP_NUM_THREADS to {} or less",
                            std::max(1, static_cast<int>(most)));
  return made;
}

// Of other processes: where threads of a rank have to wait for a CPU, all of its threads wait for
// those.
Finding load() {
  double running = 0;
  const auto cpus = static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (::getloadavg(&running, 1) != 1) running = 0;
  Finding made{
      .about = "load",
      .text = fmt::format("{:.1f} processes ran or waited for a CPU in the last minute", running)};
  if (running < 0.5 * cpus) return made;
  made.grade = Grade::note;
  made.advice =
      "beside others a run can be many times slower: wait for them, or give it fewer threads, "
      "OMP_NUM_THREADS, and OMP_WAIT_POLICY=passive";
  return made;
}

Finding units() {
  return {.about = "products",
          .text = fmt::format("f32 by {}, bf16 by {}", kernels::product_unit(Cpu{}, DType::f32),
                              kernels::product_unit(Cpu{}, DType::bf16))};
}

Finding memory(const HostLimits& limits) {
  Finding made{.about = "memory",
               .text = fmt::format("{} of {} can be taken", readable_size(limits.available),
                                   readable_size(limits.memory))};
  if (limits.memory_limit > 0)
    made.text +=
        fmt::format("; a cgroup ends who takes more than {}", readable_size(limits.memory_limit));
  if (limits.available >= kGiB) return made;
  made.grade = Grade::note;
  made.advice = "small models alone fit; end other processes, or ask for more memory";
  return made;
}

// Ranks of one host exchange through it.
Finding shared_memory() {
  struct statvfs status {};
  Finding made{.about = "/dev/shm"};
  if (::statvfs("/dev/shm", &status) != 0) {
    made.grade = Grade::note;
    made.text = "is not there, so ranks of this host exchange messages instead of memory";
    made.advice = "mount a tmpfs there";
    return made;
  }
  const auto left = static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
  made.text = readable_size(left) + " are free";
  if (left >= 256 * kMiB) return made;
  made.grade = Grade::note;
  made.advice =
      "ranks of this host need some MiB each, else they exchange messages, slower; remove what "
      "dead "
      "jobs left, or give a container more (docker run --shm-size=1g)";
  return made;
}

Finding descriptors() {
  struct rlimit limit {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  Finding made{.about = "open files", .text = fmt::format("at most {}", limit.rlim_cur)};
  if (limit.rlim_cur >= 1024) return made;
  made.grade = Grade::note;
  made.advice = "many ranks need many connections: ulimit -n 4096";
  return made;
}

std::string loaded_driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  return line;
}

GpusFacts gpus() {
  GpusFacts made{cuda::built_in(), cuda::driver(), loaded_driver(), nccl_version(), {}};
  for (int i = 0; i < cuda::device_count(); ++i)
    made.gpus.push_back({cuda::name(i), cuda::memory(i), cuda::capability(i)});
  return made;
}

}  // namespace

std::vector<Finding> examine_host() {
  const HostLimits limits = host_limits();
  std::vector<Finding> made{processors(limits), load(),          units(),
                            memory(limits),     shared_memory(), descriptors()};
  for (Finding& finding : judge_gpus(gpus())) made.push_back(std::move(finding));
  return made;
}

}  // namespace skein::train
