// Longest common subsequences of two sequences, by rows of bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grams.h"

namespace skein::text {

// Its length. Memory of O(second), time of O(first second / 64).
int64_t lcs_length(std::span<const uint32_t> first, std::span<const uint32_t> second);

// The places in `first` of one longest common subsequence, rising: of several the one that
// rouge-score reads from its table. Memory of first second / 8 bytes; a usage error for more than
// 2 GiB.
std::vector<int64_t> lcs_places(std::span<const uint32_t> first, std::span<const uint32_t> second);

}  // namespace skein::text
