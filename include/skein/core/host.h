// The host that this process runs on, and what it may use of it.
#pragma once

#include <cstdint>
#include <string>

namespace skein {

// For messages and names of files; "unnamed-host" where the system tells none.
std::string host_name();

// What the system, and the cgroups (version 1 or 2) that this process is in, leave to it.
struct HostLimits {
  double cores = 0;          // as much time as so many cores have; 0: no limit
  int64_t memory = 0;        // bytes that the host has; 0: it does not say
  int64_t memory_limit = 0;  // bytes of the smallest limit of a cgroup; 0: none
  // bytes that may still be taken: MemAvailable and free swap, or what limits leave
  int64_t available = 0;
};
// As it is now. `root` stands before the paths that are read, /proc and /sys/fs/cgroup. What cannot
// be read is no limit.
HostLimits host_limits(const std::string& root = "");

}  // namespace skein
