// Rotary positions.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// How frequencies are stretched beyond the context a model was first trained at.
enum class RopeScaling { none, linear, llama3 };

// Frequency j of D/2 is theta^(-2j/D) (Su et al., "RoFormer", 2021). linear divides all by
// `factor`. llama3 divides by it those whose wave is longer than context / low, keeps those whose
// wave is shorter than context / high, and blends between, linearly in the number of waves that fit
// into the context ("The Llama 3 herd of models", 2024).
struct RotaryWaves {
  double theta = 10000;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  double low = 1, high = 4;
  int64_t context = 8192;  // of the first training
};

// In the half-split layout: dim j pairs with j + D/2 and turns by position * frequency j. x, out
// [B,T,H,D]; positions [B,T] i32. inverse = true turns back: the gradient. On CUDA D is at most
// 512.
void rotary(Cpu, const Tensor& x, const Tensor& positions, const RotaryWaves& waves, bool inverse,
            Out out);
void rotary(Cuda, const Tensor& x, const Tensor& positions, const RotaryWaves& waves, bool inverse,
            Out out);

}  // namespace skein::kernels
