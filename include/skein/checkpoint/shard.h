// One rank's pieces as an HDF5 file in memory.
//
// Dataset path = the piece's name, its '/' making groups. A piece that is a whole box has the box's
// shape, any other is 1-D. Attributes: dtype, global_shape, box_start, box_extent, begin, end. bf16
// and f16 are stored as their 16 bits. The root says format, version, step, generation, rank,
// ranks, and the run's id where it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skein/checkpoint/piece.h"
#include "skein/checkpoint/reshard.h"
#include "skein/core/files/mapped_file.h"

namespace skein::checkpoint {

inline constexpr char kCheckpointFormat[] = "skein-checkpoint";
inline constexpr int64_t kCheckpointVersion = 1;

struct ShardHeader {
  int64_t step = 0, generation = 0;
  int rank = 0, ranks = 1;
  std::string run = {};  // the run's id; "" for none
};

// "rank-00003.h5"
std::string shard_file_name(int rank);

// The dataset of each piece in its shard: its name, or name#1, name#2, ... when a rank holds
// several pieces of that name. Error(usage) for a name that HDF5 cannot hold as a path, or that has
// a '#'.
std::vector<std::string> dataset_names(const std::vector<Piece>& pieces);

// The shard's bytes, in `memory` where there is enough of it. Empty pieces are left out.
Bytes build_shard(const ShardHeader& header, const std::vector<Piece>& pieces, Bytes memory = {});

// Reads a shard from memory or a mapped file, without copying and without the HDF5 library.
// Everything the manifest says of a shard is checked again.
class ShardReader {
 public:
  // Error(usage) when the file is another rank's, step's, generation's or run's.
  // `origin` is named in errors.
  ShardReader(Bytes image, const ShardHeader& expected, const std::string& origin);
  ShardReader(std::unique_ptr<const MappedFile> file, const ShardHeader& expected,
              const std::string& origin);
  ~ShardReader();

  // The elements of a dataset, valid as long as the reader; unaligned. Error(usage) when it is
  // missing or holds another part of another tensor.
  const std::byte* elements(const std::string& dataset, DType dtype,
                            const std::vector<int64_t>& shape, const Region& region) const;
  // These elements will not be looked at soon: a mapped file's memory goes.
  void let_go(const std::byte* elements, int64_t bytes) const;

 private:
  void open(std::span<const std::byte> image, const ShardHeader& expected,
            const std::string& origin);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace skein::checkpoint
