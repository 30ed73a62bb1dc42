// One checkpoint tensor by tensor, where the whole of it need not fit into memory.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/manifest.h"

namespace skein::checkpoint {

class ShardReader;

// Reads from a checkpoint, whatever layout wrote it. Its files are mapped, not read whole.
class CheckpointTensors {
 public:
  // `info` as find_checkpoint gave it, which has verified every byte.
  explicit CheckpointTensors(const CheckpointInfo& info);
  ~CheckpointTensors();

  const std::map<std::string, StoredTensor>& tensors() const { return manifest_.tensors; }
  // Elements [begin, end) of the tensor `name`, row-major, as `dtype` into `out`, which needs no
  // alignment. Values round to nearest even where the type gets narrower.
  void read(const std::string& name, int64_t begin, int64_t end, DType dtype, std::byte* out);

 private:
  std::string path_;
  Manifest manifest_;
  std::vector<std::unique_ptr<ShardReader>> readers_;  // null until a shard is asked for
};

// Saves a checkpoint as one process, shard after shard: `shards` are the pieces of each, without
// data, and `fill` is called for every piece in turn to write its elements to the given memory.
// Memory holds one shard at a time, twice. `directory` is made if need be and takes a new
// generation. Returns the checkpoint's path. After an error nothing is visible.
std::string save_in_shards(const std::string& directory, int64_t step,
                           const std::vector<std::vector<Piece>>& shards,
                           const std::string& metadata,
                           const std::function<void(const Piece&, std::byte*)>& fill);

}  // namespace skein::checkpoint
