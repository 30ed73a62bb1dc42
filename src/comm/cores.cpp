#include "cores.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <map>

namespace skein {

// "0,112" or "0-1"
int first_of_core(int cpu) {
  std::ifstream list(
      fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
  int first = cpu;
  return list >> first ? first : cpu;
}

std::vector<int> by_core(std::vector<int> cpus, const std::function<int(int cpu)>& first) {
  std::map<int, int> core;
  for (int cpu : cpus) core[cpu] = first(cpu);
  std::ranges::stable_sort(cpus, {}, [&](int cpu) { return std::pair(core[cpu], cpu); });
  return cpus;
}

}  // namespace skein
