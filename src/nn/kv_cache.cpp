#include "skein/nn/kv_cache.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

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

// Which number of the part's tensors, seen as [B*S], stands in each of `columns` columns of its
// rows; -1: none.
class Places {
 public:
  Places(int64_t rows, int64_t columns) : columns_(columns), all_(rows * columns, -1) {}

  // Places from, from + 1, ... in columns [begin, end) of the row.
  void set(int64_t row, int64_t begin, int64_t end, int64_t from) {
    std::iota(all_.begin() + row * columns_ + begin, all_.begin() + row * columns_ + end,
              narrow<int32_t>(from));
  }
  Tensor on(Device device) const { return Tensor::from(all_, {std::ssize(all_)}).to(device); }

 private:
  int64_t columns_;
  std::vector<int32_t> all_;
};

// What a layer's tensors [rows,columns,G,D] are gathered from.
struct Gathering {
  std::vector<Tensor> places = {};  // of each part
  int64_t rows = 0, columns = 0, elements = 0;
  int64_t first = 0;      // KvCache::Layer::first
  Tensor first_key = {};  // and first_key
};

// A layer held here that reaches so far back.
const KvCache::Layer* layer_of(const KvCache& cache, int64_t reach) {
  const auto found = std::ranges::find_if(cache.layers, [&](const KvCache::Layer& layer) {
    return layer.keys.defined() && layer.reach == reach;
  });
  return found == cache.layers.end() ? nullptr : &*found;
}

// The last positions of the part's rows, `kept` at most, stand where its rows end at `kept`.
Tensor places_of_rows(const KvCache::Part& part, const KvCache::Layer& layer,
                      const std::vector<int64_t>& lengths, int64_t kept, int64_t columns) {
  Places made(std::ssize(part.rows), columns);
  for (int64_t r = 0; r < std::ssize(part.rows); ++r) {
    const int64_t length = std::min(lengths[r], kept);
    made.set(r, kept - length, kept,
             part.rows[r] * layer.keys.dim(1) + part.cache.length - layer.first - length);
  }
  return made.on(part.cache.first_key.device());
}

// By each `width` of the part's rows, the number of the memory that they belong to.
std::vector<int64_t> memories_of(const KvCache::Part& part, int64_t width) {
  std::vector<int64_t> made;
  if (part.cache.memory_lengths.empty()) return made;
  for (int64_t r = 0; r < std::ssize(part.rows); ++r) {
    const int64_t memory = part.rows[r] / part.cache.width;
    if (r % width == 0) made.push_back(memory);
    SKEIN_CHECK_EQ(made.back(), memory);
  }
  return made;
}

// Memories begin in column 0.
Tensor places_of_memories(const KvCache& cache, const std::vector<int64_t>& memories,
                          int64_t columns) {
  const int64_t stride = std::ranges::max(cache.memory_lengths);
  Places made(std::ssize(memories), columns);
  for (int64_t m = 0; m < std::ssize(memories); ++m)
    made.set(m, 0, cache.memory_lengths[memories[m]], memories[m] * stride);
  return made.on(cache.first_key.device());
}

Tensor gathered(const std::vector<KvCache::Part>& parts, size_t layer, Tensor KvCache::Layer::*kind,
                const Gathering& from) {
  const Tensor like = parts.front().cache.layers[layer].*kind;
  if (!like.defined()) return {};
  const int64_t heads = like.dim(2), width = like.dim(3);
  const Tensor made = KvCache::layer_memory({from.rows, from.columns, heads, width}, from.elements,
                                            like.dtype(), like.device());
  const Tensor to = made.reshape({-1, heads * width});
  int64_t place = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    Tensor& source = parts[p].cache.layers[layer].*kind;
    const int64_t end = place + from.places[p].size();
    if (place < end)
      on_device(like.device(), [&](auto device) {
        kernels::embedding(device, source.reshape({-1, heads * width}), from.places[p], 0,
                           Out(to.rows(place, end)));
      });
    source = {};
    place = end;
  }
  return made;
}

// The memories of all parts, with what they are gathered from; nothing where they stay as they are.
std::optional<Gathering> join_memories(const std::vector<KvCache::Part>& parts,
                                       const KvCache::Extent& extent, KvCache& made) {
  std::vector<std::vector<int64_t>> memories;
  std::vector<int64_t> lengths;
  for (const KvCache::Part& part : parts) {
    memories.push_back(memories_of(part, extent.width));
    for (int64_t memory : memories.back()) lengths.push_back(part.cache.memory_lengths[memory]);
  }
  made.width = extent.width;
  if (lengths.empty()) return {};
  const KvCache& first = parts.front().cache;
  std::vector<int64_t> all(first.memory_lengths.size());
  std::iota(all.begin(), all.end(), 0);
  if (parts.size() == 1 && memories.front() == all) {
    made.memory_lengths = first.memory_lengths;
    made.memory_segments = first.memory_segments;
    return {};
  }
  Gathering from{{}, std::ssize(lengths), std::ranges::max(lengths), extent.memory_elements};
  for (size_t p = 0; p < parts.size(); ++p)
    from.places.push_back(places_of_memories(parts[p].cache, memories[p], from.columns));
  made.set_memories(std::move(lengths), first.first_key.device());
  return from;
}

// Where rows of these lengths begin that end at `end`, what stands before column 0 left out.
Tensor first_keys(const std::vector<std::vector<int64_t>>& lengths, int64_t end, Device device) {
  std::vector<int32_t> made;
  for (const auto& part : lengths)
    for (const int64_t length : part)
      made.push_back(narrow<int32_t>(std::max<int64_t>(0, end - length)));
  return Tensor::from(made, {std::ssize(made)}).to(device);
}

// Of layers that reach so far back, into a cache of so many positions.
Gathering gather_rows(const std::vector<KvCache::Part>& parts,
                      const std::vector<std::vector<int64_t>>& lengths, int64_t reach,
                      int64_t length, const KvCache::Extent& extent) {
  const int64_t kept = std::min(length, reach);
  Gathering made{
      .columns = kept + extent.room, .elements = extent.elements, .first = length - kept};
  if (reach < KvCache::kAll)
    made.elements = std::min(made.elements, extent.column_elements * made.columns);
  for (size_t p = 0; p < parts.size(); ++p) {
    made.rows += std::ssize(parts[p].rows);
    if (const KvCache::Layer* layer = layer_of(parts[p].cache, reach))
      made.places.push_back(places_of_rows(parts[p], *layer, lengths[p], kept, made.columns));
  }
  if (made.first > 0)
    made.first_key = first_keys(lengths, kept, parts.front().cache.first_key.device());
  return made;
}

// [N,3] i32 of columns counted from `first` on.
Tensor moves_from(int64_t first, const std::vector<KvCache::Follow>& moves, Device device) {
  std::vector<int32_t> numbers;
  for (const KvCache::Follow& move : moves)
    for (const int64_t number : {move.from, move.to, std::max<int64_t>(0, move.first - first)})
      numbers.push_back(narrow<int32_t>(number));
  return Tensor::from(numbers, {std::ssize(moves), 3}).to(device);
}

}  // namespace

void KvCache::append(int layer, const Tensor& k, const Tensor& v) {
  Layer& held = layers.at(layer);
  if (!held.keys.defined())
    for (Tensor* made : {&held.keys, &held.values})
      *made =
          layer_memory({k.dim(0), positions, k.dim(2), k.dim(3)}, elements, k.dtype(), k.device());
  SKEIN_CHECK(length - held.first + k.dim(1) <= held.keys.dim(1) && k.dim(0) == held.keys.dim(0) &&
              k.dtype() == held.keys.dtype());
  on_device(k.device(), [&](auto device) {
    kernels::copy_positions(device, k, 0, k.dim(1), length - held.first, Out(held.keys));
    kernels::copy_positions(device, v, 0, v.dim(1), length - held.first, Out(held.values));
  });
}

int64_t KvCache::capacity() const {
  const Layer* const held = layer_of(*this, kAll);
  return held ? held->keys.dim(1) : positions;
}

bool KvCache::holds_more_than_needed() const {
  return std::ranges::any_of(layers, [&](const Layer& layer) {
    return layer.keys.defined() && length - layer.first > layer.reach;
  });
}

int64_t KvCache::bytes() const {
  int64_t sum = 0;
  for (const Layer& layer : layers)
    if (layer.keys.defined())
      sum += layer.keys.bytes() + layer.values.bytes() + layer.buckets.bytes();
  return sum;
}

void KvCache::follow(const std::vector<Follow>& moves) {
  if (moves.empty()) return;
  std::map<int64_t, Tensor> by_first;
  for (const Layer& held : layers) {
    if (!held.keys.defined()) continue;
    Tensor& here = by_first[held.first];
    if (!here.defined()) here = moves_from(held.first, moves, first_key.device());
    on_device(here.device(), [&](auto device) {
      for (const Tensor& kept : {held.keys, held.values, held.buckets})
        if (kept.defined()) kernels::copy_tails(device, here, length - held.first, Out(kept));
    });
  }
}

Tensor KvCache::layer_memory(const Shape& shape, int64_t elements, DType dtype, Device device) {
  return Tensor::empty({std::max(elements, shape.size())}, dtype, device)
      .flat(0, shape.size())
      .reshape(shape);
}

void KvCache::set_memories(std::vector<int64_t> lengths, Device device) {
  memory_lengths = std::move(lengths);
  const auto [shortest, longest] = std::ranges::minmax(memory_lengths);
  memory_segments = {};
  if (shortest == longest) return;
  std::vector<int32_t> made;
  for (int64_t length : memory_lengths)
    for (int64_t column = 0; column < longest; ++column) made.push_back(column < length ? 0 : -1);
  memory_segments = Tensor::from(made, {std::ssize(memory_lengths), longest}).to(device);
}

KvCache KvCache::joined(const std::vector<Part>& parts, const Extent& extent) {
  KvCache made;
  std::vector<std::vector<int64_t>> lengths;
  for (const Part& part : parts) {
    lengths.push_back(lengths_of(part));
    for (int64_t length : lengths.back()) made.length = std::max(made.length, length);
  }
  made.positions = made.length + extent.room;
  made.elements = extent.elements;
  made.first_key = first_keys(lengths, made.length, parts.front().cache.first_key.device());
  const std::optional<Gathering> memories = join_memories(parts, extent, made);
  std::map<int64_t, Gathering> rows;  // by reach, before layers are let go
  for (const Layer& layer : parts.front().cache.layers)
    if (!rows.contains(layer.reach))
      rows[layer.reach] = gather_rows(parts, lengths, layer.reach, made.length, extent);
  for (size_t layer = 0; layer < parts.front().cache.layers.size(); ++layer) {
    const auto memory = [&](Tensor Layer::*kind) {
      return memories ? gathered(parts, layer, kind, *memories)
                      : std::exchange(parts.front().cache.layers[layer].*kind, {});
    };
    const int64_t reach = parts.front().cache.layers[layer].reach;
    const Gathering& from = rows[reach];
    made.layers.push_back({gathered(parts, layer, &Layer::keys, from),
                           gathered(parts, layer, &Layer::values, from),
                           memory(&Layer::memory_keys), memory(&Layer::memory_values), reach,
                           from.first, from.first_key});
    for (const Part& part : parts) part.cache.layers[layer].buckets = {};
  }
  return made;
}

}  // namespace skein
