#include "skein/core/host.h"

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace skein {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kUnlimited = int64_t{1} << 60;  // version 1 writes about 2^63 for no limit

// The number that a file begins with.
std::optional<int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

// The number behind a word at the beginning of a line: "MemAvailable:  1234 kB".
std::optional<int64_t> number_behind(const std::string& word, const fs::path& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    int64_t number = 0;
    if (words >> first >> number && first == word) return number;
  }
  return std::nullopt;
}

// Where a controller keeps this process's files, and those of the groups above it.
struct Cgroups {
  bool second = false;  // version 2, where one tree has all controllers
  std::vector<fs::path> folders;
};

// A line of /proc/self/cgroup is "4:cpu,cpuacct:/path", of version 2 "0::/path".
Cgroups cgroups_of(const std::string& controller, const std::string& root) {
  const fs::path mounts = root + "/sys/fs/cgroup";
  Cgroups made;
  fs::path base, own;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const bool named = ("," + names + ",").find("," + controller + ",") != std::string::npos;
    if (!named && (!names.empty() || !base.empty())) continue;
    made.second = !named;
    base = named ? mounts / (fs::exists(mounts / names) ? names : controller) : mounts;
    own = base / fs::path(line.substr(second + 1)).relative_path();
    if (named) break;
  }
  // In a container the path may be that of the host, which has no folder there.
  for (; own.native().size() > base.native().size(); own = own.parent_path())
    made.folders.push_back(own);
  if (!base.empty()) made.folders.push_back(base);
  return made;
}

// Cores' worth of time; nothing where the folder sets no limit. Of version 2 "150000 100000".
std::optional<double> quota_in(const fs::path& folder, bool second) {
  int64_t quota = 0, period = 0;
  if (second) {
    std::ifstream file(folder / "cpu.max");
    if (!(file >> quota >> period)) return std::nullopt;
  } else {
    quota = number_in(folder / "cpu.cfs_quota_us").value_or(-1);
    period = number_in(folder / "cpu.cfs_period_us").value_or(0);
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

void limit_memory(const fs::path& folder, bool second, HostLimits& limits) {
  const auto limit = number_in(folder / (second ? "memory.max" : "memory.limit_in_bytes"));
  if (!limit || *limit >= kUnlimited) return;
  const auto used = number_in(folder / (second ? "memory.current" : "memory.usage_in_bytes")),
             // Of files, which the system lets go of when memory is asked for.
      kept =
          number_behind(second ? "inactive_file" : "total_inactive_file", folder / "memory.stat");
  const int64_t left = *limit - used.value_or(0) + std::min(kept.value_or(0), used.value_or(0));
  limits.memory_limit = limits.memory_limit ? std::min(limits.memory_limit, *limit) : *limit;
  limits.available = std::clamp<int64_t>(left, 0, limits.available);
}

}  // namespace

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), HOST_NAME_MAX) == 0 && name[0] != '\0' ? name.data()
                                                                           : "unnamed-host";
}

HostLimits host_limits(const std::string& root) {
  const fs::path memory = root + "/proc/meminfo";
  HostLimits limits{.memory = number_behind("MemTotal:", memory).value_or(0) * 1024,
                    .available = std::numeric_limits<int64_t>::max()};
  if (const auto available = number_behind("MemAvailable:", memory))
    limits.available = (*available + number_behind("SwapFree:", memory).value_or(0)) * 1024;
  const Cgroups time = cgroups_of("cpu", root), room = cgroups_of("memory", root);
  for (const fs::path& folder : time.folders)
    if (const auto quota = quota_in(folder, time.second))
      limits.cores = limits.cores > 0 ? std::min(limits.cores, *quota) : *quota;
  for (const fs::path& folder : room.folders) limit_memory(folder, room.second, limits);
  return limits;
}

}  // namespace skein
