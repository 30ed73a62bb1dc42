// Which elements of which tensors stand in which file of a checkpoint that one process writes.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "skein/checkpoint/parameters.h"
#include "skein/checkpoint/piece.h"
#include "skein/checkpoint/reshard.h"

namespace skein::convert {

// Cuts weights into pieces that fit a shard of half a GiB.
class ShardPlan {
 public:
  // name: of the tensor in its model.
  void add(const std::string& name, const std::vector<int64_t>& shape, DType dtype) {
    const int64_t most = kShardBytes / size_of(dtype), size = checkpoint::element_count(shape);
    for (int64_t begin = 0; begin < size; begin += most) {
      const int64_t end = std::min(size, begin + most), bytes = (end - begin) * size_of(dtype);
      if (shards_.empty() || held_ + bytes > kShardBytes) {
        shards_.emplace_back();
        held_ = 0;
      }
      held_ += bytes;
      shards_.back().push_back({checkpoint::weight_name(name), dtype, shape,
                                std::vector<int64_t>(shape.size(), 0), shape, begin, end, nullptr});
    }
  }
  std::vector<std::vector<checkpoint::Piece>> take() { return std::move(shards_); }

 private:
  static constexpr int64_t kShardBytes = int64_t{1} << 29;

  std::vector<std::vector<checkpoint::Piece>> shards_;
  int64_t held_ = 0;
};

}  // namespace skein::convert
