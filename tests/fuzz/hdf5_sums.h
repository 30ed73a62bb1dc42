// Puts the checksums in the metadata of an HDF5 file right, so that what lies behind them is
// reached: of files whose parts do not overlap, with at most 64 headers, trees and heaps each.
// Others stay damaged, so that the repair takes no square of an input.
#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <string_view>

#include "skein/data/stores/hdf5_view.h"

namespace skein::test {

class Hdf5Sums {
 public:
  explicit Hdf5Sums(std::string_view file) : file_(file) {}

  std::string repaired() {
    sum_up(0, 44);
    each("OHDR", &Hdf5Sums::repair_header);
    each("BTHD", &Hdf5Sums::repair_tree);
    each("FRHP", &Hdf5Sums::repair_heap);
    return std::move(file_);
  }

 private:
  void each(const char* signature, void (Hdf5Sums::*repair)(uint64_t)) {
    size_t at = 0;
    for (int i = 0; i < 64 && (at = file_.find(signature, at)) != file_.npos; ++i, ++at)
      (this->*repair)(at);
  }
  uint64_t number(uint64_t at, size_t bytes) const {
    uint64_t value = 0;
    if (at <= file_.size() && bytes <= file_.size() - at)
      std::memcpy(&value, file_.data() + at, bytes);
    return value;
  }
  bool holds(uint64_t at, uint64_t bytes) const {
    return at <= file_.size() && bytes <= file_.size() && at + bytes + 4 <= file_.size();
  }
  void put_sum(uint64_t at, uint64_t bytes, uint64_t sum_at) {
    if ((summed_ += bytes) > 4 * file_.size()) return;
    const uint32_t sum = data::hdf5_sum(std::as_bytes(std::span(file_).subspan(at, bytes)));
    std::memcpy(file_.data() + sum_at, &sum, 4);
  }
  void sum_up(uint64_t at, uint64_t bytes) {
    if (holds(at, bytes)) put_sum(at, bytes, at + bytes);
  }
  void repair_header(uint64_t at) {
    const uint64_t flags = number(at + 5, 1), width = uint64_t{1} << (flags & 3);
    const uint64_t prefix = 6 + ((flags & 0x20) ? 16 : 0) + ((flags & 0x10) ? 4 : 0);
    const uint64_t begin = at + prefix + width, bytes = number(at + prefix, width);
    if (!holds(begin, bytes)) return;
    const uint64_t head = (flags & 4) ? 6 : 4;
    for (uint64_t message = begin; message + head <= begin + bytes;
         message += head + number(message + 1, 2))
      if (number(message, 1) == 0x10 && number(message + head + 8, 8) > 8)
        sum_up(number(message + head, 8), number(message + head + 8, 8) - 4);
    sum_up(at, prefix + width + bytes);
  }
  // The trees of the seeds have one node.
  void repair_tree(uint64_t at) {
    sum_up(at, 34);
    const uint64_t records = number(at + 24, 2), bytes = number(at + 10, 2);
    if (number(at + 12, 2) == 0) sum_up(number(at + 16, 8), 6 + records * bytes);
  }
  // Their heaps have one list of blocks, or one block.
  void repair_heap(uint64_t at) {
    sum_up(at, 142);
    const uint64_t width = number(at + 110, 2), start = number(at + 112, 8),
                   root = number(at + 132, 8);
    const uint64_t offset_bytes = (number(at + 128, 2) + 7) / 8, rows = number(at + 140, 2);
    if (rows == 0) return repair_block(root, start, offset_bytes);
    if (width > 64 || rows > 8 || start > file_.size()) return;
    sum_up(root, 13 + offset_bytes + 8 * width * rows);
    for (uint64_t i = 0; i < width * rows; ++i) {
      const uint64_t row = i / width;
      repair_block(number(root + 13 + offset_bytes + 8 * i, 8), start << (row == 0 ? 0 : row - 1),
                   offset_bytes);
    }
  }
  void repair_block(uint64_t at, uint64_t bytes, uint64_t offset_bytes) {
    const uint64_t sum_at = at + 13 + offset_bytes;
    if (bytes < 32 || bytes > file_.size() || at > file_.size() - bytes || offset_bytes > 8) return;
    std::memset(file_.data() + sum_at, 0, 4);
    put_sum(at, bytes, sum_at);
  }

  std::string file_;
  uint64_t summed_ = 0;
};

}  // namespace skein::test
