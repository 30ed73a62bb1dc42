#include "skein/nn/kv_cache.h"

#include <algorithm>

#include "skein/core/numbers.h"
#include "skein/kernels/embedding.h"
#include "skein/kernels/reduce.h"

namespace skein {
namespace {

// How many positions each row of the part has.
std::vector<int64_t> lengths_of(const KvCache::Part& part) {
  const Tensor first = part.cache.first_key.to(Device{});
  std::vector<int64_t> made;
  for (int64_t row : part.rows) made.push_back(part.cache.length - first.data<int32_t>()[row]);
  return made;
}

// Positions of the part's layers, seen as [B*S], that stand in columns [0, capacity) of its rows
// when these end at `end`; -1: none.
Tensor sources(const KvCache::Part& part, const std::vector<int64_t>& lengths, int64_t end,
               int64_t capacity) {
  const auto rows = static_cast<int64_t>(part.rows.size());
  const Tensor made = Tensor::empty({rows * capacity}, DType::i32);
  std::fill_n(made.data<int32_t>(), made.size(), -1);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t length = lengths[r], row = part.rows[r];
    for (int64_t i = 0; i < length; ++i)
      made.data<int32_t>()[r * capacity + end - length + i] =
          static_cast<int32_t>(row * part.cache.capacity() + part.cache.length - length + i);
  }
  return made.to(part.cache.first_key.device());
}

struct Join {
  const std::vector<KvCache::Part>& parts;
  std::vector<Tensor> sources;  // of each part
  int64_t rows = 0, capacity = 0, elements = 0;

  Tensor moved(size_t layer, Tensor KvCache::Layer::*kind) const {
    const Tensor like = parts.front().cache.layers[layer].*kind;
    if (!like.defined()) return {};
    const int64_t width = like.dim(2) * like.dim(3);
    const Tensor made = KvCache::layer_memory({rows, capacity, like.dim(2), like.dim(3)}, elements,
                                              like.dtype(), like.device());
    int64_t row = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      Tensor& from = parts[p].cache.layers[layer].*kind;
      const int64_t end = row + static_cast<int64_t>(parts[p].rows.size());
      if (row < end)
        on_device(like.device(), [&](auto device) {
          kernels::embedding(device, from.reshape({-1, width}), sources[p], 0,
                             Out(made.rows(row, end)));
        });
      from = {};
      row = end;
    }
    return made;
  }
};

}  // namespace

void KvCache::append(int layer, const Tensor& k, const Tensor& v) {
  Layer& held = layers.at(layer);
  SKEIN_CHECK(length + k.dim(1) <= held.keys.dim(1) && k.dim(0) == held.keys.dim(0) &&
              k.dtype() == held.keys.dtype());
  on_device(k.device(), [&](auto device) {
    kernels::copy_positions(device, k, 0, k.dim(1), length, Out(held.keys));
    kernels::copy_positions(device, v, 0, v.dim(1), length, Out(held.values));
  });
}

int64_t KvCache::capacity() const {
  const auto held = std::find_if(layers.begin(), layers.end(),
                                 [](const Layer& layer) { return layer.keys.defined(); });
  return held == layers.end() ? 0 : held->keys.dim(1);
}

void KvCache::follow(const std::vector<Follow>& moves) {
  std::vector<int32_t> numbers;
  for (const Follow& move : moves)
    for (int64_t number : {move.from, move.to, move.first})
      numbers.push_back(narrow<int32_t>(number));
  if (moves.empty()) return;
  const Tensor here = Tensor::from(numbers, {std::ssize(moves), 3}).to(first_key.device());
  for (const Layer& held : layers) {
    if (!held.keys.defined()) continue;
    on_device(here.device(), [&](auto device) {
      kernels::copy_tails(device, here, length, Out(held.keys));
      kernels::copy_tails(device, here, length, Out(held.values));
    });
  }
}

Tensor KvCache::layer_memory(const Shape& shape, int64_t elements, DType dtype, Device device) {
  return Tensor::empty({std::max(elements, shape.size())}, dtype, device)
      .flat(0, shape.size())
      .reshape(shape);
}

KvCache KvCache::joined(const std::vector<Part>& parts, int64_t room, int64_t elements) {
  KvCache made;
  Join join{parts, {}, 0, 0, elements};
  std::vector<std::vector<int64_t>> lengths;
  for (const Part& part : parts) {
    lengths.push_back(lengths_of(part));
    join.rows += static_cast<int64_t>(part.rows.size());
    for (int64_t length : lengths.back()) made.length = std::max(made.length, length);
  }
  join.capacity = made.length + room;
  const Tensor first = Tensor::empty({join.rows}, DType::i32);
  int32_t* next = first.data<int32_t>();
  for (size_t p = 0; p < parts.size(); ++p) {
    for (int64_t length : lengths[p]) *next++ = static_cast<int32_t>(made.length - length);
    join.sources.push_back(sources(parts[p], lengths[p], made.length, join.capacity));
  }
  made.first_key = first.to(parts.front().cache.first_key.device());
  for (size_t layer = 0; layer < parts.front().cache.layers.size(); ++layer)
    made.layers.push_back({join.moved(layer, &Layer::keys), join.moved(layer, &Layer::values)});
  return made;
}

}  // namespace skein
