#include "manifest_json.h"

#include "skein/core/strict_json.h"

namespace skein::checkpoint {

using nlohmann::json;

namespace {

template <class Whole>
void read(const json& json, const char* key, Whole& to) {
  to = whole<Whole>(json.at(key), key, kManifestOrigin);
}
template <class Whole>
void read(const json& json, const char* key, std::vector<Whole>& to) {
  to = whole_list<Whole>(json.at(key), key, kManifestOrigin);
}

StoredPiece piece_from_json(const json& json) {
  StoredPiece piece;
  read(json, "shard", piece.shard);
  json.at("dataset").get_to(piece.dataset);
  read(json, "box_start", piece.region.start);
  read(json, "box_extent", piece.region.extent);
  read(json, "begin", piece.region.begin);
  read(json, "end", piece.region.end);
  return piece;
}

}  // namespace

json shard_json(const ShardEntry& entry) {
  return {
      {"file", entry.file}, {"bytes", entry.bytes}, {"crc32c", entry.sums}, {"total", entry.total}};
}

ShardEntry shard_from_json(const json& json) {
  ShardEntry entry;
  json.at("file").get_to(entry.file);
  read(json, "bytes", entry.bytes);
  read(json, "crc32c", entry.sums);
  read(json, "total", entry.total);
  return entry;
}

json tensor_json(DType dtype, const std::vector<int64_t>& shape) {
  return {{"dtype", name_of(dtype)}, {"shape", shape}, {"pieces", json::array()}};
}

StoredTensor tensor_from_json(const json& json) {
  StoredTensor tensor;
  tensor.dtype = dtype_from_name(json.at("dtype").get<std::string>());
  read(json, "shape", tensor.shape);
  for (const auto& piece : json.at("pieces")) tensor.pieces.push_back(piece_from_json(piece));
  return tensor;
}

json piece_json(const StoredPiece& piece) {
  return {{"shard", piece.shard},
          {"dataset", piece.dataset},
          {"box_start", piece.region.start},
          {"box_extent", piece.region.extent},
          {"begin", piece.region.begin},
          {"end", piece.region.end}};
}

}  // namespace skein::checkpoint
