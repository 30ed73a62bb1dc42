// What a checkpoint holds, and the sums that every byte of it is held against.
//
// manifest.json is JSON whose last field, "crc32c", is the CRC-32C (eight hex digits) of all bytes
// before that field's line; docs/checkpoint-format.md lists the others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "skein/checkpoint/piece.h"
#include "skein/checkpoint/reshard.h"
#include "skein/core/files/files.h"
#include "skein/core/numbers.h"

namespace skein::checkpoint {

inline constexpr char kManifestName[] = "manifest.json";
inline constexpr int64_t kSumBlock = int64_t{1} << 20;

struct ShardEntry {
  std::string file;
  int64_t bytes = 0;
  std::vector<uint32_t> sums;  // CRC-32C of each MiB, the last one shorter
  uint32_t total = 0;          // CRC-32C of the whole file, for other tools
};

struct StoredPiece {
  int shard = 0;
  std::string dataset;
  Region region;
};

struct StoredTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<StoredPiece> pieces;
};

struct Manifest {
  int64_t step = 0, generation = 0;
  std::string created;             // UTC, "2024-05-06T07:08:09Z"
  std::string metadata;            // JSON
  std::vector<ShardEntry> shards;  // one a rank, in rank order
  std::map<std::string, StoredTensor> tensors;
  std::string run;  // id of the run that made it; "" for none, as of an import

  int ranks() const { return narrow<int>(shards.size()); }
  int64_t bytes() const;  // of all shards
};

// Size and sums of a shard, from memory.
ShardEntry describe_shard(std::string file, const Bytes& image);

// One rank's part of the manifest as text, for rank 0: what it holds of which tensor, and its
// shard. Error(failure) naming a piece that does not fit its tensor.
std::string report_pieces(int rank, const std::vector<Piece>& pieces);
std::string report_shard(const ShardEntry& entry);

// Adds the reports of all ranks, in rank order. Error(failure) when ranks disagree about a tensor,
// or when the pieces of one leave out an element or hold it twice.
void add_reports(Manifest& manifest, const std::vector<std::string>& shards,
                 const std::vector<std::string>& pieces);

std::string manifest_text(const Manifest& manifest);

// Error(usage) that says why the text is no whole and consistent manifest. `origin` is named in it.
Manifest parse_manifest(const std::string& text, const std::string& origin);

// Reads one shard of the checkpoint in `directory` and compares size and sums. Error(usage) names
// the file and what is wrong or that it is missing: damage. SystemError, after retries, where it
// cannot be read, which says nothing of its bytes.
void verify_shard(const std::string& directory, const ShardEntry& entry);
// The same, keeping the bytes.
Bytes read_shard(const std::string& directory, const ShardEntry& entry);

}  // namespace skein::checkpoint
