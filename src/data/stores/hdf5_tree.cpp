#include "hdf5_tree.h"

#include <algorithm>

namespace skein::data {
namespace {

constexpr uint64_t kTreeHeader = 34, kNodePrefix = 6, kNodeOverhead = 10;
constexpr uint64_t kMostDepth = 8;  // nodes have dozens of children: more than any memory holds

constexpr uint64_t kMostTreeRecords = uint64_t{1} << 18;

using Record = std::span<const std::byte>;

class Tree {
 public:
  Tree(const Hdf5Bytes& file, uint64_t at, Hdf5Records kind, uint64_t record_bytes)
      : file_(file), kind_(kind), record_(record_bytes) {
    Hdf5Cursor header(file.block(at, kTreeHeader, "BTHD"));
    header.skip(4);
    const uint64_t version = header.number(1), type = header.number(1);
    const uint64_t node_bytes = header.number(4), record = header.number(2);
    depth_ = header.number(2);
    header.skip(2);
    root_ = header.number(8);
    in_root_ = header.number(2);
    total_ = header.number(8);
    require(version == 0 && type == static_cast<uint64_t>(kind),
            "a B-tree has version {} and type {}", version, type);
    require(record == record_, "a B-tree has records of {} bytes instead of {}", record, record_);
    require(depth_ <= kMostDepth && total_ <= std::min(kMostTreeRecords, file.size() / record_),
            "a B-tree says {} levels and {} records, more than there can be", depth_, total_);
    measure(node_bytes);
  }

  std::vector<Record> records() {
    if (total_ > 0) walk(root_, in_root_, depth_);
    require(found_.size() == total_, "a B-tree holds {} records and says {}", found_.size(),
            total_);
    return std::move(found_);
  }

 private:
  // How many records fit below a node, which says how many bytes their number takes.
  void measure(uint64_t node_bytes) {
    require(node_bytes >= kNodeOverhead + record_, "a B-tree has nodes of {} bytes", node_bytes);
    uint64_t below = (node_bytes - kNodeOverhead) / record_;
    count_bytes_ = hdf5_bytes_for(below);
    total_bytes_ = {0};
    for (uint64_t depth = 1; depth <= depth_; ++depth) {
      const uint64_t pointer = pointer_bytes(depth), overhead = kNodeOverhead + pointer;
      require(node_bytes > overhead, "a B-tree has nodes of {} bytes", node_bytes);
      const uint64_t most = (node_bytes - overhead) / (record_ + pointer);
      below = (most + 1) * below + most;
      total_bytes_.push_back(hdf5_bytes_for(below));
    }
  }

  void walk(uint64_t at, uint64_t count, uint64_t depth) {
    require(count <= file_.size() / record_,
            "a node of a B-tree says {} records, more than there can be", count);
    const uint64_t more = depth == 0 ? 0 : (count + 1) * pointer_bytes(depth);
    Hdf5Cursor bytes(node(at, count, more, depth == 0 ? "BTLF" : "BTIN"));
    for (uint64_t i = 0; i < count; ++i) found_.push_back(bytes.take(record_));
    require(found_.size() <= total_, "a B-tree holds more than the {} records that it says",
            total_);
    for (uint64_t i = 0; depth > 0 && i <= count; ++i) {
      const uint64_t child = bytes.number(kAddressBytes), in_child = bytes.number(count_bytes_);
      bytes.skip(total_bytes_[depth - 1]);
      walk(child, in_child, depth - 1);
    }
  }

  Record node(uint64_t at, uint64_t count, uint64_t more, const char* signature) const {
    const auto bytes = file_.block(at, kNodePrefix + count * record_ + more, signature);
    require(bytes[4] == std::byte{0} && bytes[5] == static_cast<std::byte>(kind_),
            "a node of a B-tree is of another tree");
    return bytes.subspan(kNodePrefix);
  }

  uint64_t pointer_bytes(uint64_t depth) const {
    return kAddressBytes + count_bytes_ + total_bytes_[depth - 1];
  }

  const Hdf5Bytes& file_;
  Hdf5Records kind_;
  uint64_t record_, depth_ = 0, root_ = 0, in_root_ = 0, total_ = 0;
  size_t count_bytes_ = 0;
  std::vector<size_t> total_bytes_;  // of the number of records below a node, by its depth
  std::vector<Record> found_;
};

}  // namespace

std::vector<Record> hdf5_records(const Hdf5Bytes& file, uint64_t at, Hdf5Records kind,
                                 uint64_t record_bytes) {
  return Tree(file, at, kind, record_bytes).records();
}

}  // namespace skein::data
