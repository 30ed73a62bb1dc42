#include "skein/checkpoint/tensors.h"

#include "skein/checkpoint/directory.h"
#include "skein/checkpoint/reshard.h"
#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/numbers.h"

#include "open.h"
#include "room.h"

namespace skein::checkpoint {

CheckpointTensors::CheckpointTensors(const CheckpointInfo& info)
    : path_(info.path), manifest_(read_manifest(info.path)), readers_(manifest_.shards.size()) {}

CheckpointTensors::~CheckpointTensors() = default;

void CheckpointTensors::read(const std::string& name, int64_t begin, int64_t end, DType dtype,
                             std::byte* out) {
  const auto found = manifest_.tensors.find(name);
  require(found != manifest_.tensors.end(), "{} holds no tensor {}", path_, name);
  const StoredTensor& tensor = found->second;
  const Region wanted{std::vector<int64_t>(tensor.shape.size(), 0), tensor.shape, begin, end};
  int64_t copied = 0;
  for (const StoredPiece& piece : tensor.pieces) {
    if (!may_overlap(piece.region, wanted)) continue;
    auto& reader = readers_[piece.shard];
    const std::string file = join_path(path_, shard_file_name(piece.shard));
    if (!reader)
      reader = std::make_unique<ShardReader>(std::make_unique<const MappedFile>(file),
                                             header_of(manifest_, piece.shard), file);
    const std::byte* data =
        reader->elements(piece.dataset, tensor.dtype, tensor.shape, piece.region);
    copied += copy_overlap(piece.region, tensor.dtype, data, wanted, dtype, out);
    reader->let_go(data, piece.region.size() * size_of(tensor.dtype));
  }
  SKEIN_CHECK_EQ(copied, end - begin);
}

namespace {

// One shard, from its elements to its file.
void write_shard(const std::string& path, const ShardHeader& header, std::vector<Piece> pieces,
                 Manifest& manifest, std::vector<std::string>& reports,
                 const std::function<void(const Piece&, std::byte*)>& fill) {
  int64_t bytes = 0, at = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes();
  const Bytes memory(bytes);
  for (Piece& piece : pieces) {
    piece.data = memory.data() + at;
    at += piece.bytes();
    fill(piece, piece.data);
  }
  reports.push_back(report_pieces(header.rank, pieces));
  const Bytes image = build_shard(header, pieces);
  manifest.shards.push_back(describe_shard(shard_file_name(header.rank), image));
  write_new_file(join_path(path, shard_file_name(header.rank)), image.text());
}

}  // namespace

std::string save_in_shards(const std::string& directory, int64_t step,
                           const std::vector<std::vector<Piece>>& shards,
                           const std::string& metadata,
                           const std::function<void(const Piece&, std::byte*)>& fill) {
  SKEIN_CHECK(!shards.empty() && nlohmann::json::accept(metadata));
  const int ranks = narrow<int>(shards.size());
  const std::string run = run_id_in(directory);
  const CheckpointName name{start_generation(directory, ranks, run), step};
  int64_t bytes = 0;
  for (const auto& pieces : shards)
    for (const Piece& piece : pieces) bytes += piece.bytes();
  check_free_space(directory, bytes);
  const std::string temporary = make_temporary(directory, name);
  try {
    Manifest manifest;
    manifest.step = step;
    manifest.generation = name.generation;
    manifest.metadata = metadata;
    manifest.run = run;
    std::vector<std::string> reports;
    for (int rank = 0; rank < ranks; ++rank)
      write_shard(temporary, {step, name.generation, rank, ranks, run}, shards[rank], manifest,
                  reports, fill);
    add_reports(manifest, {}, reports);
    manifest.created = utc_now();
    write_new_file(join_path(temporary, kManifestName), manifest_text(manifest));
    publish(temporary, directory, name);
  } catch (...) {
    remove_tree(temporary);
    throw;
  }
  return join_path(directory, name.text());
}

}  // namespace skein::checkpoint
