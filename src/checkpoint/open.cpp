#include "open.h"

#include <filesystem>
#include <span>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/directory.h"
#include "skein/core/error.h"
#include "skein/core/files/retry.h"
#include "skein/formats/crc32c.h"

namespace skein::checkpoint {
namespace {

std::string base_name(const std::string& path) {
  return std::filesystem::path(plain_path(path)).filename().string();
}

// A copy may bear any name; one of our own names must tell the truth.
Manifest parse_in_place(const std::string& text, const std::string& directory) {
  Manifest manifest = parse_manifest(text, join_path(directory, kManifestName));
  const CheckpointName held{manifest.generation, manifest.step};
  const auto named = CheckpointName::parse(base_name(directory));
  if (named && *named != held) fail_usage("{} holds the manifest of {}", directory, held.text());
  return manifest;
}

std::string manifest_in(const std::string& directory) {
  return retried([&] { return read_text(join_path(directory, kManifestName)); });
}

}  // namespace

std::string plain_path(const std::string& path) {
  const auto normal = std::filesystem::path(path).lexically_normal();
  return normal.has_filename() || !normal.has_relative_path() ? normal.string()
                                                              : normal.parent_path().string();
}

bool is_checkpoint_path(const std::string& path) {
  return CheckpointName::parse(base_name(path)).has_value() ||
         is_there(join_path(path, kManifestName));
}

Manifest read_manifest(const std::string& directory) {
  return parse_in_place(manifest_in(directory), directory);
}

Manifest share_manifest(const std::string& directory, Group& world) {
  const std::string text = from_root(world, [&] { return manifest_in(directory); });
  Manifest manifest;
  agree(world, [&] { manifest = parse_in_place(text, directory); });
  return manifest;
}

CheckpointInfo info_of(const std::string& path, const Manifest& manifest) {
  uint32_t sum = 0;
  for (const ShardEntry& shard : manifest.shards)
    sum = formats::crc32c(std::as_bytes(std::span(&shard.total, 1)), sum);
  return {path, manifest.step, manifest.generation, manifest.metadata, manifest.created, sum};
}

ShardHeader header_of(const Manifest& manifest, int shard) {
  return {manifest.step, manifest.generation, shard, manifest.ranks(), manifest.run};
}

}  // namespace skein::checkpoint
