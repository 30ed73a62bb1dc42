#include "manifest_json.h"

namespace skein {

using nlohmann::json;

json shard_json(const ShardEntry& entry) {
  return {{"file", entry.file}, {"bytes", entry.bytes}, {"crc32c", entry.sums}, {"total", entry.total}};
}

ShardEntry shard_from_json(const json& json) {
  ShardEntry entry;
  json.at("file").get_to(entry.file);
  json.at("bytes").get_to(entry.bytes);
  json.at("crc32c").get_to(entry.sums);
  json.at("total").get_to(entry.total);
  return entry;
}

json tensor_json(DType dtype, const std::vector<int64_t>& shape) {
  return {{"dtype", name_of(dtype)}, {"shape", shape}, {"pieces", json::array()}};
}

StoredTensor tensor_from_json(const json& json) {
  StoredTensor tensor;
  tensor.dtype = dtype_from_name(json.at("dtype").get<std::string>());
  json.at("shape").get_to(tensor.shape);
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

StoredPiece piece_from_json(const json& json) {
  StoredPiece piece;
  json.at("shard").get_to(piece.shard);
  json.at("dataset").get_to(piece.dataset);
  json.at("box_start").get_to(piece.region.start);
  json.at("box_extent").get_to(piece.region.extent);
  json.at("begin").get_to(piece.region.begin);
  json.at("end").get_to(piece.region.end);
  return piece;
}

}  // namespace skein
