// Keys and values of the tokens decoded so far, for one stage of the model.
#pragma once

#include <vector>

#include "skein/tensor/tensor.h"

namespace skein {

struct KvCache {
  struct Layer {
    Tensor keys, values;  // [B,S,G,D]
  };
  std::vector<Layer> layers;  // by the block's number in the whole model; empty where held elsewhere
  int64_t length = 0;         // positions filled
  Tensor first_key;           // [B] i32: where each sequence begins (left padding)

  // Copies k, v [B,T,G,D] into places length .. length + T of the layer.
  void append(int layer, const Tensor& k, const Tensor& v);
};

}  // namespace skein
