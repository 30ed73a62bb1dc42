#include "skein/kernels/units.h"

#include <atomic>
#include <unistd.h>

#include "simd.h"

#if SKEIN_AVX512
#include <cpuid.h>
#include <sys/syscall.h>
#endif

namespace skein::kernels {
namespace {

#if SKEIN_AVX512
// The kernel grants the large tile state on request only, once a process, before threads use it.
bool may_use_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kBf16) == 0 || (d & kTiles) == 0)
    return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Intel's cores run VDPBF16PS at half the rate of f32 multiply-adds, AMD's at twice.
bool pairs_are_fast() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_is("amd");
}
#endif

bool has(Bf16Unit unit) {
#if SKEIN_AVX512
  if (unit == Bf16Unit::amx) {
    static const bool granted = may_use_tiles();
    return granted;
  }
  // The software's tiles are filled by the same instructions that AMX's are.
  return unit == Bf16Unit::f32 || __builtin_cpu_supports("avx512bf16");
#else
  return unit == Bf16Unit::f32;
#endif
}

Bf16Unit best_unit() {
#if SKEIN_AVX512
  if (has(Bf16Unit::amx)) return Bf16Unit::amx;
  if (pairs_are_fast()) return Bf16Unit::avx512_bf16;
#endif
  return Bf16Unit::f32;
}

std::atomic<Bf16Unit>& chosen() {
  static std::atomic<Bf16Unit> unit = best_unit();
  return unit;
}

}  // namespace

Bf16Unit bf16_unit(Cpu) { return chosen().load(std::memory_order_relaxed); }

bool use_bf16_unit(Cpu, Bf16Unit unit) {
  if (!has(unit)) return false;
  chosen() = unit;
  return true;
}

std::string product_unit(Cpu, DType dtype) {
  const std::string widest = kVectorBytes == 64   ? "AVX-512"
                             : kVectorBytes == 32 ? "AVX2"
                                                  : "128-bit vectors";
  if (dtype == DType::f16) return widest + " through f32";
  if (dtype != DType::bf16) return widest;
  switch (bf16_unit(Cpu{})) {
    case Bf16Unit::amx: return "AMX";
    case Bf16Unit::amx_emulated: return "emulated AMX";
    case Bf16Unit::avx512_bf16: return "AVX512-BF16";
    case Bf16Unit::f32: break;
  }
  return widest + " through f32";
}

}  // namespace skein::kernels
