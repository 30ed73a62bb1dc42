// A tile of 32 rows and 32 columns on AMX: four accumulators of 16 x 16, sixteen Pairs of depth at
// a time.
#pragma once

#include "simd.h"

namespace skein::kernels {

// Rows of packed operands: a [32] rows of kAmxRow units, b [depth][32].
constexpr int kAmxRow = 128;

// Memory to be in the caches by the time a tile is done: cache lines from `begin` on.
struct PrefetchRange {
  const void* begin = nullptr;
  int64_t lines = 0;
};

// c [32, 32] = a · b over `depth` units, a multiple of 16, or += when load; by the unit in use.
// Each 32 elements of depth are summed by themselves and then added to c, as TDPBF16PS does;
// subnormal numbers count as zero on the real unit.
using AmxTile = void (*)(int64_t depth, const TilePair* a, const TilePair* b, float* c,
                         int64_t c_row, bool load, PrefetchRange ahead);

// The unit's function, and its tiles shaped for this thread: call it again after anything else may
// have used them.
AmxTile begin_amx_tiles();

// `rounds` times four TDPBF16PS on registers alone, by the unit in use.
using AmxRegisters = void (*)(int64_t rounds);
AmxRegisters amx_registers();

}  // namespace skein::kernels
