// Small runs' states under many layouts, for the tests of this folder.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/piece.h"
#include "skein/checkpoint/reshard.h"
#include "skein/comm/local.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/philox.h"

#include "support/scratch.h"

namespace skein::scenario {

struct Spec {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
};

inline const std::vector<Spec>& specs() {
  static const std::vector<Spec> all = {{"param/block.0.weight", DType::f32, {6, 10}},
                                        {"param/block.0.bias", DType::bf16, {7}},
                                        {"adam_m/block.0.weight", DType::f64, {3, 4, 5}},
                                        {"count", DType::i64, {}},
                                        {"mask", DType::u8, {13}},
                                        {"table", DType::i32, {2, 9}},
                                        {"none", DType::f32, {0, 4}}};
  return all;
}

// The bytes of one element, from the tensor's name and the element's global index.
inline std::vector<std::byte> element(const Spec& spec, int64_t index, uint64_t seed) {
  const PhiloxBlock bits = philox(derive_key(seed, spec.name), 0, static_cast<uint64_t>(index));
  std::vector<std::byte> bytes(static_cast<size_t>(size_of(spec.dtype)));
  const auto put = [&](auto value) { std::memcpy(bytes.data(), &value, sizeof(value)); };
  const double number = uniform_double(bits[0], bits[1]) - 0.5;
  switch (spec.dtype) {
    case DType::f32: put(static_cast<float>(number)); break;
    case DType::f64: put(number); break;
    case DType::bf16: put(BFloat16(static_cast<float>(number))); break;
    case DType::f16: put(Float16(static_cast<float>(number))); break;
    case DType::i32: put(bits[0]); break;
    case DType::i64: put(uint64_t{bits[0]} << 32 | bits[1]); break;
    case DType::u8: put(static_cast<uint8_t>(bits[0])); break;
  }
  return bytes;
}

// The global index of element k of the region's box, the slow and plain way.
inline int64_t global_index(const checkpoint::Region& region, const std::vector<int64_t>& shape,
                            int64_t k) {
  int64_t index = 0, scale = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    index += (region.start[d] + k % region.extent[d]) * scale;
    k /= region.extent[d];
    scale *= shape[d];
  }
  return index;
}

// Pieces and the memory behind them.
struct State {
  std::vector<std::vector<std::byte>> memory;
  std::vector<checkpoint::Piece> pieces;

  void add(const Spec& spec, const checkpoint::Region& region) {
    memory.emplace_back(static_cast<size_t>(region.size() * size_of(spec.dtype)), std::byte{0xA5});
    pieces.push_back({spec.name, spec.dtype, spec.shape, region.start, region.extent, region.begin,
                      region.end, memory.back().data()});
  }
};

// The regions of one tensor that one rank holds.
using Layout = std::function<std::vector<checkpoint::Region>(const std::vector<int64_t>& shape,
                                                             int ranks, int rank)>;

inline checkpoint::Region whole(const std::vector<int64_t>& shape) {
  return {std::vector<int64_t>(shape.size(), 0), shape, 0, checkpoint::element_count(shape)};
}

inline std::vector<checkpoint::Region> split_dim(const std::vector<int64_t>& shape, size_t dim,
                                                 int ranks, int rank) {
  checkpoint::Region region = whole(shape);
  if (shape.size() <= dim) {
    if (rank > 0) region.end = 0;
    return {region};
  }
  region.start[dim] = shape[dim] * rank / ranks;
  region.extent[dim] = shape[dim] * (rank + 1) / ranks - region.start[dim];
  region.end = checkpoint::element_count(region.extent);
  return {region};
}

inline checkpoint::Region flat_part(checkpoint::Region region, int parts, int part) {
  const int64_t size = region.end;
  region.begin = size * part / parts;
  region.end = size * (part + 1) / parts;
  return region;
}

inline Layout rows() {
  return [](const auto& shape, int ranks, int rank) { return split_dim(shape, 0, ranks, rank); };
}
inline Layout columns() {
  return [](const auto& shape, int ranks, int rank) { return split_dim(shape, 1, ranks, rank); };
}
inline Layout flat() {
  return [](const auto& shape, int ranks, int rank) -> std::vector<checkpoint::Region> {
    return {flat_part(whole(shape), ranks, rank)};
  };
}
// Columns over pairs of ranks, flat ranges inside a pair.
inline Layout columns_and_flat() {
  return [](const auto& shape, int ranks, int rank) -> std::vector<checkpoint::Region> {
    return {flat_part(split_dim(shape, 1, ranks / 2, rank / 2).front(), 2, rank % 2)};
  };
}
// Several pieces of one tensor a rank.
inline Layout scattered() {
  return [](const auto& shape, int ranks, int rank) {
    std::vector<checkpoint::Region> regions;
    for (int part = rank; part < 3 * ranks; part += ranks)
      regions.push_back(flat_part(whole(shape), 3 * ranks, part));
    return regions;
  };
}

struct Case {
  const char* name;
  int ranks;
  Layout layout;
};

inline std::vector<Case> cases() {
  return {{"one", 1, rows()},
          {"rows2", 2, rows()},
          {"rows3", 3, rows()},
          {"columns2", 2, columns()},
          {"columns4", 4, columns()},
          {"flat3", 3, flat()},
          {"flat4", 4, flat()},
          {"both4", 4, columns_and_flat()},
          {"scattered2", 2, scattered()}};
}

inline State empty_state(const Layout& layout, int ranks, int rank) {
  State state;
  for (const Spec& spec : specs())
    for (const checkpoint::Region& region : layout(spec.shape, ranks, rank))
      state.add(spec, region);
  return state;
}

inline const Spec& spec_of(const checkpoint::Piece& piece) {
  for (const Spec& spec : specs())
    if (spec.name == piece.name) return spec;
  throw std::logic_error("no such tensor");
}

inline State filled_state(const Layout& layout, int ranks, int rank, uint64_t seed) {
  State state = empty_state(layout, ranks, rank);
  for (checkpoint::Piece& piece : state.pieces)
    for (int64_t k = piece.begin; k < piece.end; ++k) {
      const auto bytes =
          element(spec_of(piece), global_index(region_of(piece), piece.shape, k), seed);
      std::memcpy(piece.data + (k - piece.begin) * size_of(piece.dtype), bytes.data(),
                  bytes.size());
    }
  return state;
}

inline std::string save(const std::string& directory, const Case& from, int64_t step, uint64_t seed,
                        int keep = 10) {
  std::string path;
  run_ranks(from.ranks, [&](Group& world) {
    checkpoint::CheckpointStore store(directory, keep, world);
    const State state = filled_state(from.layout, from.ranks, world.rank(), seed);
    const std::string saved =
        store.save(step, state.pieces, R"({"config": "[train]", "tokens": 12})");
    if (world.rank() == 0) path = saved;
  });
  return path;
}

inline void expect_loads(const std::string& directory, const Case& to, uint64_t seed,
                         int64_t step) {
  run_ranks(to.ranks, [&](Group& world) {
    const auto info = checkpoint::find_checkpoint(directory, world);
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->step, step);
    const State state = empty_state(to.layout, to.ranks, world.rank());
    load_checkpoint(*info, state.pieces, true, world);
    const State expected = filled_state(to.layout, to.ranks, world.rank(), seed);
    for (size_t i = 0; i < state.memory.size(); ++i)
      EXPECT_EQ(state.memory[i], expected.memory[i]) << to.name << " " << state.pieces[i].name;
  });
}

inline void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// The error that `action` must throw; its text holds every one of `words`.
inline void expect_error(ExitCode code, const std::function<void()>& action,
                         const std::vector<std::string>& words) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "'" << word << "' is not in: " << error.what();
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

inline std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  return names;
}

}  // namespace skein::scenario
