// The manifest's parts to and from JSON.
#pragma once

#include "skein/checkpoint/manifest.h"
#include "skein/core/json.h"

namespace skein::checkpoint {

constexpr char kManifestOrigin[] = "the manifest";  // in errors

nlohmann::json shard_json(const ShardEntry& entry);
ShardEntry shard_from_json(const nlohmann::json& json);

// A tensor without its pieces.
nlohmann::json tensor_json(DType dtype, const std::vector<int64_t>& shape);
StoredTensor tensor_from_json(const nlohmann::json& json);

nlohmann::json piece_json(const StoredPiece& piece);

}  // namespace skein::checkpoint
