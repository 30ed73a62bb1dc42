// Tensors of checkpoints as numbers: statistics and differences.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace skein::checkpoint {

// Minimum, maximum, mean, deviation, norm and oddities of the named tensors, each read whole.
void print_stats(const std::string& path, const std::vector<std::string>& names, std::ostream& out);

// Writes how two checkpoints differ; true when all tensors are equal bit for bit.
bool print_difference(const std::string& first, const std::string& second, std::ostream& out);

}  // namespace skein::checkpoint
