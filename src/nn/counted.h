// Places of tokens in a row. Internal to attention.
#pragma once

#include "skein/core/numbers.h"
#include "skein/tensor/tensor.h"

namespace skein {

// [B,T] i32: first, first + 1, ...
inline Tensor counted(int64_t samples, int64_t first, int64_t length) {
  const Tensor made = Tensor::empty({samples, length}, DType::i32);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<int32_t>()[i] = narrow<int32_t>(first + i % length);
  return made;
}

}  // namespace skein
