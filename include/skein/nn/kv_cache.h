// Keys and values of the tokens decoded so far, for one stage of the model.
#pragma once

#include <vector>

#include "skein/tensor/tensor.h"

namespace skein {

struct KvCache {
  struct Layer {
    Tensor keys, values;  // [B,S,G,D]
    // Of attention to a memory [M,S,G,D], made of it once: of M sources, each of as many rows of
    // the batch as follow each other.
    Tensor memory_keys, memory_values;
  };
  // by the block's number in the whole model; empty where held elsewhere
  std::vector<Layer> layers;
  int64_t length = 0;  // positions filled
  Tensor first_key;    // [B] i32: where each sequence begins (left padding)
  // [M,S] i32 on the device, -1 for the padding of a memory; undefined where there is none
  Tensor memory_segments;

  // Copies k, v [B,T,G,D] into columns length .. length + T of the layer.
  void append(int layer, const Tensor& k, const Tensor& v);
  // S of the layers held here; 0 where there are none.
  int64_t capacity() const;

  // A row goes on as another one does: of that one's columns those from `first` on are copied, and
  // those before are equal already.
  struct Follow {
    int64_t from, to, first;
    bool operator==(const Follow&) const = default;
  };
  // No row is followed and follows.
  void follow(const std::vector<Follow>& moves);

  // A tensor [B,S,G,D] at the beginning of memory for at least `elements` numbers. Caches of
  // different shapes that ask for the same `elements` take turns in the same memory.
  static Tensor layer_memory(const Shape& shape, int64_t elements, DType dtype, Device device);

  // Some rows of a cache, in any order and any number of times.
  struct Part {
    KvCache& cache;
    std::vector<int64_t> rows;
  };
  // The rows of all parts one after the other, with room for `room` more positions. Rows are moved
  // so that all end in the same column; the longest begins at 0. The parts, which need their
  // first_key, lose their layers one by one, so that no more than one is held twice. elements: as
  // in layer_memory.
  static KvCache joined(const std::vector<Part>& parts, int64_t room, int64_t elements);
};

}  // namespace skein
