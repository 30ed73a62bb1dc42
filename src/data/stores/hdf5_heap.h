// Where HDF5 keeps what has no room in an object's header.
#pragma once

#include <map>
#include <set>
#include <string>

#include "hdf5_bytes.h"

namespace skein::data {

// A fractal heap (File Format Specification, III.G): blocks of growing size, one behind the other
// in a space of their own, in which objects have an offset and a length.
class Hdf5Heap {
 public:
  Hdf5Heap(const Hdf5Bytes& file, uint64_t at);
  // The object of an ID as B-trees hold it.
  std::span<const std::byte> object(std::span<const std::byte> id);

 private:
  // A part of the heap's space: a block with elements, or, where it has rows, one that lists such
  // parts.
  struct Part {
    uint64_t at, base, bytes, rows;
  };
  void check_sizes() const;
  uint64_t row_bytes(uint64_t row) const { return start_ << (row == 0 ? 0 : row - 1); }
  uint64_t row_base(uint64_t row) const { return row == 0 ? 0 : (width_ * start_) << (row - 1); }
  std::span<const std::byte> managed(uint64_t offset, uint64_t length);
  std::span<const std::byte> huge(Hdf5Cursor id);
  Part part_with(const Part& list, uint64_t offset);
  std::span<const std::byte> elements(const Part& part);
  void check_block(std::span<const std::byte> block, const Part& part, const char* signature) const;

  const Hdf5Bytes& file_;
  uint64_t at_;
  uint64_t id_bytes_ = 0, huge_tree_ = 0, width_ = 0, start_ = 0, most_direct_ = 0, root_ = 0,
           rows_ = 0;
  size_t offset_bytes_ = 0, length_bytes_ = 0;
  bool summed_ = false;
  std::set<uint64_t> looked_at_;                         // blocks whose checksums have been taken
  std::map<uint64_t, std::span<const std::byte>> huge_;  // by number, once they are asked for
};

// A text of variable length, by the 16 bytes that stand for it (III.E, the global heap).
std::string hdf5_variable_text(const Hdf5Bytes& file, std::span<const std::byte> reference);

}  // namespace skein::data
