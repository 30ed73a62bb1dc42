#include "amx.h"

namespace skein::kernels {
namespace {

constexpr int kSide = 16;     // rows, columns and units of depth of one tile
constexpr int kColumns = 32;  // of a packed panel

float wide(BFloat16 x) { return static_cast<float>(x); }

// One TDPBF16PS: c [16,16] += a [16,16 pairs] · b [16 pairs,16].
void add_tile(const TilePair* a, const TilePair* b, float* c) {
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      float sum = 0;
      for (int k = 0; k < kSide; ++k) {
        const TilePair x = a[i * kAmxRow + k], y = b[k * kColumns + j];
        sum = fused(wide(x.low), wide(y.low), sum);
        sum = fused(wide(x.high), wide(y.high), sum);
      }
      c[i * kColumns + j] += sum;
    }
}

void emulated_tile(int64_t depth, const TilePair* a, const TilePair* b, float* c, int64_t c_row,
                   bool load, PrefetchRange) {
  float sums[2 * kSide * kColumns] = {};
  for (int i = 0; load && i < 2 * kSide; ++i)
    std::memcpy(sums + i * kColumns, c + i * c_row, kColumns * sizeof(float));
  for (int64_t k = 0; k < depth; k += kSide)
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        add_tile(a + i * kSide * kAmxRow + k, b + k * kColumns + j * kSide,
                 sums + i * kSide * kColumns + j * kSide);
  for (int i = 0; i < 2 * kSide; ++i)
    std::memcpy(c + i * c_row, sums + i * kColumns, kColumns * sizeof(float));
}

#if SKEIN_AVX512
#define SKEIN_AMX __attribute__((target("amx-tile,amx-bf16")))

struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// GCC 12 does not know that the instruction reads the shapes, hence the barrier.
SKEIN_AMX void shape_tiles() {
  static constexpr TileShapes shapes;
  asm volatile("" : : "r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
}

// Tiles 0 to 3 are the sums, 4 and 5 rows, 6 and 7 columns.
SKEIN_AMX void real_tile(int64_t depth, const TilePair* a, const TilePair* b, float* c,
                         int64_t c_row, bool load, PrefetchRange ahead) {
  constexpr int64_t kLeft = kAmxRow * sizeof(TilePair), kRight = kColumns * sizeof(TilePair);
  const int64_t out = c_row * static_cast<int64_t>(sizeof(float));
  float* lower = c + kSide * c_row;
  const auto* fetched = static_cast<const char*>(ahead.begin);
  const int64_t lines = (ahead.lines * kSide + depth - 1) / depth;  // a step
  asm volatile("" : : : "memory");
  if (load) {
    _tile_loadd(0, c, out);
    _tile_loadd(1, c + kSide, out);
    _tile_loadd(2, lower, out);
    _tile_loadd(3, lower + kSide, out);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t k = 0; k < depth; k += kSide) {
    _tile_loadd(4, a + k, kLeft);
    _tile_loadd(6, b + k * kColumns, kRight);
    _tile_loadd(7, b + k * kColumns + kSide, kRight);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + kSide * kAmxRow + k, kLeft);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    for (int64_t i = 0; i < lines; ++i, fetched += 64) _mm_prefetch(fetched, _MM_HINT_T0);
  }
  _tile_stored(0, c, out);
  _tile_stored(1, c + kSide, out);
  _tile_stored(2, lower, out);
  _tile_stored(3, lower + kSide, out);
  asm volatile("" : : : "memory");
}

SKEIN_AMX void real_registers(int64_t rounds) {
  shape_tiles();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}
#endif

void emulated_registers(int64_t rounds) {
  static const TilePair a[2 * kSide * kAmxRow] = {}, b[kSide * kColumns] = {};
  float c[2 * kSide * kColumns] = {};
  for (int64_t i = 0; i < rounds; ++i) emulated_tile(kSide, a, b, c, kColumns, true, {});
}

}  // namespace

AmxRegisters amx_registers() {
#if SKEIN_AVX512
  if (bf16_unit(Cpu{}) == Bf16Unit::amx) return real_registers;
#endif
  return emulated_registers;
}

AmxTile begin_amx_tiles() {
#if SKEIN_AVX512
  if (bf16_unit(Cpu{}) == Bf16Unit::amx) {
    shape_tiles();
    return real_tile;
  }
#endif
  return emulated_tile;
}

}  // namespace skein::kernels
