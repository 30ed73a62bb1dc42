#include "skein/checkpoint/manifest.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "skein/checkpoint/generation.h"
#include "skein/checkpoint/shard.h"
#include "skein/core/error.h"
#include "skein/core/files/retry.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"
#include "skein/formats/crc32c.h"

#include "manifest_json.h"
#include "seal.h"

namespace skein::checkpoint {
namespace {

using nlohmann::json;

constexpr int kMostDepth = 20;  // metadata takes the most of it

std::string describe_tensor(const StoredTensor& tensor) {
  return fmt::format("{} {}", name_of(tensor.dtype), shape_text(tensor.shape));
}

void check_shard_entry(const ShardEntry& entry, size_t rank) {
  const std::string wanted = shard_file_name(narrow<int>(rank));
  if (entry.file != wanted) fail("shard {} is called '{}', not '{}'", rank, entry.file, wanted);
  if (entry.bytes <= 0 || std::ssize(entry.sums) != (entry.bytes - 1) / kSumBlock + 1)
    fail("{} has {} sums for {} bytes", entry.file, entry.sums.size(), entry.bytes);
}

void check_tensor(const std::string& name, const StoredTensor& tensor, int shards) {
  for (const StoredPiece& piece : tensor.pieces) {
    if (piece.shard < 0 || piece.shard >= shards)
      fail("a piece of {} is in shard {} of {}", name, piece.shard, shards);
    const std::string fault = misfit(piece.region, tensor.shape);
    if (!fault.empty()) fail("a piece of {} does not fit: {}", name, fault);
  }
}

// Elements lie in their shard as they are, so what is said of them can take no more than that has
// bytes: whoever makes room for what a manifest lists makes no more than the checkpoint has.
void check_room(const Manifest& manifest) {
  std::vector<int64_t> left;
  for (const ShardEntry& shard : manifest.shards) left.push_back(shard.bytes);
  for (const auto& [name, tensor] : manifest.tensors)
    for (const StoredPiece& piece : tensor.pieces) {
      const int64_t elements = piece.region.size();
      const auto bytes = checked_product({&elements, 1}, size_of(tensor.dtype));
      int64_t& room = left[piece.shard];
      if (!bytes || *bytes > room)
        fail("a piece of {} with {} elements of {} has no room in shard {} of {} bytes", name,
             elements, name_of(tensor.dtype), piece.shard, manifest.shards[piece.shard].bytes);
      room -= *bytes;
    }
}

// Lists tensors whose pieces leave out an element or hold one twice.
void check_coverage(const std::map<std::string, StoredTensor>& tensors) {
  constexpr int kShown = 5;
  std::string faults;
  int count = 0;
  for (const auto& [name, tensor] : tensors) {
    std::vector<Region> regions;
    for (const StoredPiece& piece : tensor.pieces) regions.push_back(piece.region);
    const std::string fault = tiling_fault(regions, tensor.shape);
    if (!fault.empty() && ++count <= kShown)
      faults += fmt::format("{}{} ({})", count > 1 ? "; " : "", name, fault);
  }
  if (count > 0)
    fail("the pieces of {} tensors do not make up the whole: {}{}", count, faults,
         count > kShown ? "; ..." : "");
}

Manifest from_json(const json& json) {
  const auto format = json.at("format").get<std::string>();
  if (format != kCheckpointFormat) fail("its format is '{}', not '{}'", format, kCheckpointFormat);
  const auto version = whole<int64_t>(json.at("version"), "version", kManifestOrigin);
  if (version != kCheckpointVersion)
    fail("it has version {} of the format and this program reads version {}", version,
         kCheckpointVersion);
  Manifest manifest;
  manifest.step = whole<int64_t>(json.at("step"), "step", kManifestOrigin);
  manifest.generation = whole<int64_t>(json.at("generation"), "generation", kManifestOrigin);
  json.at("created").get_to(manifest.created);
  manifest.run = json.value("run", "");
  check_run_id(manifest.run, kManifestOrigin);
  manifest.metadata = json.at("metadata").dump();
  for (const auto& shard : json.at("shards")) manifest.shards.push_back(shard_from_json(shard));
  for (const auto& [name, tensor] : json.at("tensors").items())
    manifest.tensors[name] = tensor_from_json(tensor);
  const auto ranks = whole<int64_t>(json.at("ranks"), "ranks", kManifestOrigin);
  if (ranks != manifest.ranks())
    fail("it is of {} ranks and lists {} shards", ranks, manifest.ranks());
  return manifest;
}

// Compares one block after the other, so that each is summed while it is in the processor's cache.
template <class Memory>
void check_blocks(const std::string& directory, const ShardEntry& entry, Memory&& memory) {
  const std::string path = join_path(directory, entry.file);
  FileReader reader(path);
  if (reader.size() != entry.bytes)
    fail_usage(
        "{} has {} bytes and the manifest says {}: it was cut, or it is another checkpoint's", path,
        reader.size(), entry.bytes);
  for (size_t block = 0; block < entry.sums.size(); ++block) {
    const int64_t begin = block * kSumBlock;
    const int64_t bytes = std::min(kSumBlock, entry.bytes - begin);
    std::byte* out = memory(begin);
    reader.read(out, bytes);
    const uint32_t sum = formats::crc32c(std::span<const std::byte>(out, bytes));
    if (sum != entry.sums[block])
      fail_usage(
          "{} does not give its checksum in bytes {} to {} ({:08x}, the manifest says {:08x}): it "
          "is damaged, or another rank's, step's or run's",
          path, begin, begin + bytes, sum, entry.sums[block]);
  }
}

void add_tensor(Manifest& manifest, const std::string& name, const StoredTensor& reported,
                size_t rank) {
  const auto [entry, fresh] = manifest.tensors.try_emplace(name);
  StoredTensor& known = entry->second;
  if (fresh) {
    known.dtype = reported.dtype;
    known.shape = reported.shape;
  } else if (known.dtype != reported.dtype || known.shape != reported.shape) {
    fail("rank {} saves {} as {} and a lower rank as {}", rank, name, describe_tensor(reported),
         describe_tensor(known));
  }
  known.pieces.insert(known.pieces.end(), reported.pieces.begin(), reported.pieces.end());
}

void add_piece(json& tensors, int rank, const Piece& piece, const std::string& dataset) {
  const std::string fault = misfit(region_of(piece), piece.shape);
  if (!fault.empty()) fail("a piece of {} does not fit: {}", piece.name, fault);
  json& tensor = tensors[piece.name];
  if (tensor.is_null()) tensor = tensor_json(piece.dtype, piece.shape);
  if (tensor.at("dtype") != name_of(piece.dtype) || tensor.at("shape") != json(piece.shape))
    fail("one rank holds pieces of {} with different types or shapes", piece.name);
  if (piece.begin == piece.end) return;
  if (piece.data == nullptr) fail("a piece of {} has elements but no memory", piece.name);
  tensor.at("pieces").push_back(piece_json({rank, dataset, region_of(piece)}));
}

}  // namespace

int64_t Manifest::bytes() const {
  int64_t total = 0;
  for (const ShardEntry& shard : shards) total += shard.bytes;
  return total;
}

ShardEntry describe_shard(std::string file, const Bytes& image) {
  ShardEntry entry{std::move(file), image.size(), {}, 0};
  for (int64_t begin = 0; begin < image.size(); begin += kSumBlock) {
    const auto block = image.span().subspan(begin, std::min(kSumBlock, image.size() - begin));
    entry.sums.push_back(formats::crc32c(block));
    entry.total = formats::crc32c_joined(entry.total, entry.sums.back(), std::ssize(block));
  }
  return entry;
}

std::string report_pieces(int rank, const std::vector<Piece>& pieces) {
  const std::vector<std::string> datasets = dataset_names(pieces);
  json tensors = json::object();
  for (size_t i = 0; i < pieces.size(); ++i) add_piece(tensors, rank, pieces[i], datasets[i]);
  return tensors.dump();
}

std::string report_shard(const ShardEntry& entry) { return shard_json(entry).dump(); }

void add_reports(Manifest& manifest, const std::vector<std::string>& shards,
                 const std::vector<std::string>& pieces) {
  for (const std::string& shard : shards)
    manifest.shards.push_back(shard_from_json(json::parse(shard)));
  for (size_t rank = 0; rank < pieces.size(); ++rank) {
    const json report = json::parse(pieces[rank]);
    for (const auto& [name, tensor] : report.items())
      add_tensor(manifest, name, tensor_from_json(tensor), rank);
  }
  check_coverage(manifest.tensors);
}

std::string manifest_text(const Manifest& manifest) {
  json shards = json::array(), tensors = json::object();
  for (const ShardEntry& shard : manifest.shards) shards.push_back(shard_json(shard));
  for (const auto& [name, tensor] : manifest.tensors) {
    json& entry = tensors[name] = tensor_json(tensor.dtype, tensor.shape);
    for (const StoredPiece& piece : tensor.pieces) entry.at("pieces").push_back(piece_json(piece));
  }
  json fields = {{"format", kCheckpointFormat},
                 {"version", kCheckpointVersion},
                 {"step", manifest.step},
                 {"generation", manifest.generation},
                 {"ranks", manifest.ranks()},
                 {"created", manifest.created},
                 {"shards", std::move(shards)},
                 {"tensors", std::move(tensors)},
                 {"metadata", json::parse(manifest.metadata)}};
  if (!manifest.run.empty()) fields["run"] = manifest.run;
  return sealed(fields.dump(1));
}

Manifest parse_manifest(const std::string& text, const std::string& origin) {
  try {
    check_seal(text);
    Manifest manifest = from_json(parse_strictly<json>(text, kManifestOrigin, kMostDepth));
    for (size_t rank = 0; rank < manifest.shards.size(); ++rank)
      check_shard_entry(manifest.shards[rank], rank);
    for (const auto& [name, tensor] : manifest.tensors)
      check_tensor(name, tensor, manifest.ranks());
    check_room(manifest);
    check_coverage(manifest.tensors);
    return manifest;
  } catch (const std::exception& error) {
    fail_usage("{} cannot be used: {}", origin, json_fault(error.what()));
  }
}

void verify_shard(const std::string& directory, const ShardEntry& entry) {
  Bytes block(kSumBlock);
  retried([&] { check_blocks(directory, entry, [&](int64_t) { return block.data(); }); });
}

Bytes read_shard(const std::string& directory, const ShardEntry& entry) {
  Bytes image;
  retried([&] {
    check_blocks(directory, entry, [&](int64_t begin) {
      if (begin == 0) image.resize(entry.bytes);
      return image.data() + begin;
    });
  });
  return image;
}

}  // namespace skein::checkpoint
