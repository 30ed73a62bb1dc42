// Which of the CPU's units multiply bf16.
#pragma once

#include <string>

#include "skein/tensor/tensor.h"

namespace skein::kernels {

enum class Bf16Unit {
  f32,           // converted to f32 while packing, by the vectors that f32 uses
  avx512_bf16,   // VDPBF16PS
  amx,           // TDPBF16PS on tiles
  amx_emulated,  // the same tiles in software, slow: for tests of the tiled path on CPUs without
                 // AMX
};

// Chosen when first asked for: AMX before anything else, AVX512-BF16 where it is faster than f32,
// else f32.
Bf16Unit bf16_unit(Cpu);
// Sets it for this process, for tests and comparisons. False where the CPU or this build lacks it.
bool use_bf16_unit(Cpu, Bf16Unit unit);

// The units that multiply tensors of dtype here: "AMX", "AVX512-BF16", "AVX-512", "AVX2", …
std::string product_unit(Cpu, DType dtype);

}  // namespace skein::kernels
