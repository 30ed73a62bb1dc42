// Manifests from checkpoints' directories.
#pragma once

#include <string>

#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/manifest.h"
#include "skein/checkpoint/shard.h"
#include "skein/comm/group.h"

namespace skein::checkpoint {

// The path without a slash at its end.
std::string plain_path(const std::string& path);

// True when the path is one checkpoint, by its manifest or by its name, and not a directory of
// checkpoints.
bool is_checkpoint_path(const std::string& path);

// The verified manifest of one checkpoint. Error(usage) where it is damaged or missing, and when
// the directory bears another step's or generation's name; SystemError, after retries, where it
// cannot be read.
Manifest read_manifest(const std::string& directory);

// Collective. The same, read by rank 0 only.
Manifest share_manifest(const std::string& directory, Group& world);

CheckpointInfo info_of(const std::string& path, const Manifest& manifest);
// What the shard of that number must say of itself.
ShardHeader header_of(const Manifest& manifest, int shard);

}  // namespace skein::checkpoint
