#include "hdf5_heap.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "skein/data/stores/hdf5_view.h"

#include "hdf5_tree.h"

namespace skein::data {
namespace {

constexpr uint64_t kHeapHeader = 142, kSum = 4;
constexpr uint64_t kHugeRecord = 24;  // address, length, number
constexpr uint64_t kLargestBlock = uint64_t{1} << 32;

uint64_t log2_of(uint64_t power) { return std::bit_width(power) - 1; }

}  // namespace

Hdf5Heap::Hdf5Heap(const Hdf5Bytes& file, uint64_t at) : file_(file), at_(at) {
  Hdf5Cursor header(file.block(at, kHeapHeader, "FRHP"));
  header.skip(4);
  const uint64_t version = header.number(1);
  id_bytes_ = header.number(2);
  const uint64_t filters = header.number(2);
  summed_ = (header.number(1) & 2) != 0;
  const uint64_t most_managed = header.number(4);
  header.skip(8);  // the next huge object's number
  huge_tree_ = header.number(8);
  header.skip(10 * 8);  // free space and counts
  width_ = header.number(2);
  start_ = header.number(8);
  most_direct_ = header.number(8);
  offset_bytes_ = (header.number(2) + 7) / 8;
  header.skip(2);
  root_ = header.number(8);
  rows_ = header.number(2);
  require(version == 0 && filters == 0, "a heap has version {} and {} bytes of filters", version,
          filters);
  check_sizes();
  length_bytes_ = std::min((log2_of(most_direct_) + 7) / 8, hdf5_bytes_for(most_managed));
}

void Hdf5Heap::check_sizes() const {
  const bool powers = std::has_single_bit(width_) && std::has_single_bit(start_) &&
                      std::has_single_bit(most_direct_);
  require(powers && start_ <= most_direct_ && most_direct_ <= kLargestBlock && offset_bytes_ <= 8 &&
              log2_of(width_) + log2_of(start_) + rows_ < 63,
          "a heap has {} blocks in a row, of {} to {} bytes, in {} rows, which cannot be", width_,
          start_, most_direct_, rows_);
}

std::span<const std::byte> Hdf5Heap::object(std::span<const std::byte> id) {
  require(id.size() == id_bytes_, "an ID of {} bytes is one of another heap, whose IDs have {}",
          id.size(), id_bytes_);
  Hdf5Cursor cursor(id);
  const uint64_t kind = cursor.number(1);
  require((kind & 0xc0) == 0 && (kind & 0x30) <= 0x10,
          "an ID begins with {:#x}, of an unknown kind", kind);
  const bool is_huge = (kind & 0x10) != 0;
  const uint64_t offset = is_huge ? 0 : cursor.number(offset_bytes_);
  const auto found = is_huge ? huge(cursor) : managed(offset, cursor.number(length_bytes_));
  file_.charge(found.size());
  return found;
}

std::span<const std::byte> Hdf5Heap::huge(Hdf5Cursor id) {
  if (id.left() >= 2 * kAddressBytes) {
    const uint64_t at = id.number(8);
    return file_.at(at, id.number(8));
  }
  if (huge_.empty())
    for (const auto& record :
         hdf5_records(file_, huge_tree_, Hdf5Records::huge_objects, kHugeRecord)) {
      Hdf5Cursor fields(record);
      const uint64_t at = fields.number(8), length = fields.number(8);
      huge_[fields.number(8)] = file_.at(at, length);
    }
  const uint64_t number = id.number(std::min<size_t>(8, id.left()));
  const auto found = huge_.find(number);
  require(found != huge_.end(), "a heap has no object {}", number);
  return found->second;
}

std::span<const std::byte> Hdf5Heap::managed(uint64_t offset, uint64_t length) {
  Part part{root_, 0, start_, rows_};
  while (part.rows > 0) part = part_with(part, offset);
  const auto block = elements(part);
  const uint64_t from = offset - part.base;
  require(from <= block.size() && length <= block.size() - from,
          "an object leaves its block of a heap");
  return block.subspan(from, length);
}

Hdf5Heap::Part Hdf5Heap::part_with(const Part& list, uint64_t offset) {
  const uint64_t inside = offset - list.base;
  uint64_t row = 0;
  while (row < list.rows && inside >= row_base(row) + width_ * row_bytes(row)) ++row;
  require(row < list.rows, "an object lies behind the end of its heap");
  const uint64_t column = (inside - row_base(row)) / row_bytes(row);
  const uint64_t direct_rows = log2_of(most_direct_) - log2_of(start_) + 2;
  const uint64_t prefix = 5 + kAddressBytes + offset_bytes_;
  const uint64_t count = prefix + list.rows * width_ * kAddressBytes;
  const auto bytes = looked_at_.insert(list.at).second ? file_.block(list.at, count, "FHIB")
                                                       : file_.at(list.at, count);
  check_block(bytes, list, "FHIB");
  Part part{0, list.base + row_base(row) + column * row_bytes(row), row_bytes(row), 0};
  part.at = Hdf5Cursor(bytes.subspan(prefix + (row * width_ + column) * kAddressBytes))
                .number(kAddressBytes);
  if (row < direct_rows) return part;
  require(part.bytes >= width_ * start_, "a list of blocks of a heap is too small for a row");
  part.rows = log2_of(part.bytes) - log2_of(width_ * start_) + 1;
  return part;
}

// The checksum is taken with zeros instead of itself.
std::span<const std::byte> Hdf5Heap::elements(const Part& part) {
  const auto block = file_.at(part.at, part.bytes);
  check_block(block, part, "FHDB");
  if (!summed_ || !looked_at_.insert(part.at).second) return block;
  file_.charge(part.bytes);
  const uint64_t sum_at = 5 + kAddressBytes + offset_bytes_;
  require(block.size() >= sum_at + kSum, "a block of a heap has {} bytes", block.size());
  std::vector<std::byte> copy(block.begin(), block.end());
  std::fill_n(copy.begin() + sum_at, kSum, std::byte{0});
  require(hdf5_sum(copy) == Hdf5Cursor(block.subspan(sum_at)).number(kSum),
          "the block of metadata at byte {} does not give its checksum: it is damaged", part.at);
  return block;
}

void Hdf5Heap::check_block(std::span<const std::byte> block, const Part& part,
                           const char* signature) const {
  require_signature(block, signature);
  Hdf5Cursor fields(block);
  fields.skip(4);
  const uint64_t version = fields.number(1), owner = fields.number(kAddressBytes),
                 base = fields.number(offset_bytes_);
  require(version == 0 && owner == at_ && base == part.base,
          "the block {} at byte {} is another heap's, or lies at another place of it", signature,
          part.at);
}

std::string hdf5_variable_text(const Hdf5Bytes& file, std::span<const std::byte> reference) {
  Hdf5Cursor fields(reference);
  const uint64_t length = fields.number(4), at = fields.number(8), index = fields.number(4);
  if (length == 0) return "";
  Hdf5Cursor head(file.at(at, 16));
  require(hdf5_text(head.take(4)) == "GCOL" && head.number(4) == 1,
          "there is no global heap at byte {}", at);
  const uint64_t bytes = head.number(8);
  require(bytes >= 16, "the global heap at byte {} has {} bytes", at, bytes);
  Hdf5Cursor objects(file.at(at, bytes).subspan(16));
  while (objects.left() >= 16) {
    const uint64_t number = objects.number(2);
    objects.skip(6);
    const uint64_t size = objects.number(8);
    if (number == 0) break;  // free space up to the end
    require(size <= objects.left(), "an object of the global heap at byte {} leaves it", at);
    const auto object = objects.take(size);
    objects.skip(std::min<uint64_t>((8 - size % 8) % 8, objects.left()));
    if (number != index) continue;
    require(length <= size, "a text has {} bytes and its place in the global heap {}", length,
            size);
    const std::string_view text = hdf5_text(object.first(length));
    return std::string(text.substr(0, text.find('\0')));
  }
  fail_usage("the global heap at byte {} has no object {}", at, index);
}

}  // namespace skein::data
