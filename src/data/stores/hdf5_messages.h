// Messages of object headers (File Format Specification, IV.A.2), each from its data. Texts are
// those of the file. Every function throws a usage Error.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "skein/data/stores/hdf5_view.h"

#include "hdf5_bytes.h"

namespace skein::data {

struct Hdf5Link {
  bool hard = false;
  uint64_t at = 0;
};

// The bytes of a number whose width the low bits of `flags` give.
uint64_t hdf5_width(uint64_t flags);

// IV.A.2.b, versions 1 and 2.
std::vector<uint64_t> hdf5_dims(std::span<const std::byte> data);
// IV.A.2.d.
Hdf5Type hdf5_type(std::span<const std::byte> data);
// IV.A.2.m, version 3, with its name. Types and shapes that stand elsewhere are refused.
std::pair<std::string_view, Hdf5Attribute> hdf5_attribute(std::span<const std::byte> data);
// IV.A.2.g, with its name.
std::pair<std::string_view, Hdf5Link> hdf5_link(std::span<const std::byte> data);
// IV.A.2.i, versions 3 and later: the address and the length of what is stored in one run.
void hdf5_layout(std::span<const std::byte> data, Hdf5Dataset& dataset);

}  // namespace skein::data
