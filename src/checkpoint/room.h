// Room for a checkpoint on disk.
#pragma once

#include <cstdint>
#include <string>

namespace skein::checkpoint {

// Error(failure) with both sizes when a checkpoint of `bytes` does not fit into the file system of
// `directory`.
void check_free_space(const std::string& directory, int64_t bytes);

}  // namespace skein::checkpoint
