// Keys and values of the tokens decoded so far, for one stage of the model; of a decoder that reads
// a memory also those made of the memory.
#pragma once

#include <vector>

#include "skein/tensor/tensor.h"

namespace skein {

struct KvCache {
  struct Layer {
    Tensor keys, values;  // [B,S,G,D]; undefined before append()
    // Of attention to a memory [M,S,G,D], made of it once, by the first pass.
    Tensor memory_keys = {}, memory_values = {};
    // Columns before a token's own that it sees: those further back are let go when rows move.
    int64_t reach = kAll;
    int64_t first = 0;      // the column that the first one of keys and values is
    Tensor first_key = {};  // [B] i32 from there on; undefined while `first` is 0
    // [B,S,H,R] i32 of keys that are hashed (HashedSight::append); undefined: to be made anew.
    Tensor buckets = {};

    // Where each sequence begins in keys and values.
    const Tensor& begins(const KvCache& cache) const { return first ? first_key : cache.first_key; }
  };
  static constexpr int64_t kAll = int64_t{1} << 40;
  // by the block's number in the whole model; empty where held elsewhere
  std::vector<Layer> layers;
  int64_t length = 0;  // positions filled
  Tensor first_key;    // [B] i32: where each sequence begins (left padding)

  // Of M memories each belongs to `width` rows, which stand together: B = M * width.
  int64_t width = 1;
  std::vector<int64_t> memory_lengths = {};  // tokens of each; none: there are no memories
  // [M,S] i32 on the device, 0 and behind a memory's tokens -1; undefined where all are S long
  Tensor memory_segments;

  // A layer that is appended to first is made for so many positions, by layer_memory.
  int64_t positions = 0, elements = 0;

  // Copies k, v [B,T,G,D] into columns length .. length + T of the layer.
  void append(int layer, const Tensor& k, const Tensor& v);
  // Columns of the layers held here that keep all, or of all to be made here.
  int64_t capacity() const;
  // Whether moving the rows would let columns go.
  bool holds_more_than_needed() const;
  int64_t bytes() const;  // of keys, values and buckets, but for memories
  // Sets memory_lengths, and memory_segments for S, the longest.
  void set_memories(std::vector<int64_t> lengths, Device device);

  // A row goes on as another one does: of that one's columns those from `first` on are copied, and
  // those before are equal already. Both are of one memory, which stays as it is.
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
  // What a cache has that is made of others.
  struct Extent {
    int64_t room = 0;   // more positions
    int64_t width = 1;  // rows of a memory
    int64_t elements = 0,
            memory_elements = 0;  // of a layer and of its memories, as in layer_memory
    int64_t column_elements = 0;  // of a column, where a layer holds some of them
  };
  // The rows of all parts one after the other, with their memories, each `width` rows of one. Rows
  // are moved so that all end in the same column; the longest begins at 0. The parts, which need
  // their first_key, lose their layers one by one, so that no more than one is held twice; memories
  // that stay as they are are not copied. Of a layer that reaches less far back its last columns
  // are kept. Buckets are left out.
  static KvCache joined(const std::vector<Part>& parts, const Extent& extent);
};

}  // namespace skein
