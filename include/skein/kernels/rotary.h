// Rotary positions.
#pragma once

#include <vector>

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// How frequencies are stretched beyond the context a model was first trained at.
enum class RopeScaling { none, linear, llama3, yarn, longrope };

// Frequency j of R/2 is theta^(-2j/R), R of D numbers being turned (Su et al., "RoFormer", 2021).
// linear divides all by `factor`. llama3 divides by it those whose wave is longer than context /
// low, keeps those whose wave is shorter than context / high, and blends between, linearly in the
// number of waves that fit into the context ("The Llama 3 herd of models", 2024). yarn does the
// same, but blends linearly in j, from the last whole j before `high` waves fit to the first behind
// `low`, and multiplies cosines and sines by `amplitude` (Peng and others, "YaRN", 2023). longrope
// divides frequency j by factors[j], and multiplies alike (Ding and others, "LongRoPE", 2024).
struct RotaryWaves {
  double theta = 10000;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  double low = 1, high = 4;
  int64_t context = 8192;            // of the first training
  double amplitude = 1;              // of what turns, under every scaling
  int64_t width = 0;                 // numbers of a head that turn, the first ones; 0: all
  std::vector<double> factors = {};  // of longrope, one a pair that turns

  int64_t turned(int64_t head) const { return width ? width : head; }
};

// In the half-split layout: dim j pairs with j + R/2 and turns by position * frequency j, and both
// are multiplied by the amplitude; from R on dims stay as they are. x, out [B,T,H,D]; positions
// [B,T] i32. inverse = true turns back and multiplies alike: the gradient. On CUDA D is at most
// 512.
void rotary(Cpu, const Tensor& x, const Tensor& positions, const RotaryWaves& waves, bool inverse,
            Out out);
void rotary(Cuda, const Tensor& x, const Tensor& positions, const RotaryWaves& waves, bool inverse,
            Out out);

}  // namespace skein::kernels
