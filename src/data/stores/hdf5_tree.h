// B-trees of version 2 (File Format Specification, III.A.2), which list the links of large groups,
// the attributes of objects that have many, and what is too large for a heap.
#pragma once

#include <vector>

#include "hdf5_bytes.h"

namespace skein::data {

enum class Hdf5Records : uint8_t { huge_objects = 1, link_names = 5, attribute_names = 8 };

// All records of the tree at `at`, `record_bytes` each.
std::vector<std::span<const std::byte>> hdf5_records(const Hdf5Bytes& file, uint64_t at,
                                                     Hdf5Records kind, uint64_t record_bytes);

}  // namespace skein::data
