// Which of a host's CPUs share a physical core. Internal to the floor.
#pragma once

#include <functional>
#include <vector>

namespace skein {

// The first of the CPUs that share this one's core; itself where the system does not say.
int first_of_core(int cpu);

// CPUs so ordered that those of one core stand together, cores by their first CPU: equal shares of
// that hold whole cores wherever they can, and neighbours. Systems often number the second thread
// of every core behind all first ones.
std::vector<int> by_core(std::vector<int> cpus,
                         const std::function<int(int cpu)>& first = first_of_core);

}  // namespace skein
