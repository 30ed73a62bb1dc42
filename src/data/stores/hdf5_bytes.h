// The bytes of an HDF5 file, looked at within their bounds only. Every function throws a usage
// Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "skein/core/error.h"

namespace skein::data {

constexpr uint64_t kNoAddress = ~uint64_t{0}, kAddressBytes = 8;
constexpr std::string_view kHdf5Signature("\x89HDF\r\n\x1a\n", 8);  // of a whole file

class Hdf5Bytes {
 public:
  explicit Hdf5Bytes(std::span<const std::byte> all)
      : all_(all), left_(2 * all.size() + kSpareBytes) {}

  uint64_t size() const { return all_.size(); }
  std::span<const std::byte> at(uint64_t from, uint64_t count) const;
  // A block of metadata: `count` bytes from the signature on, with their checksum behind them.
  // Charges for it.
  std::span<const std::byte> block(uint64_t from, uint64_t count, std::string_view signature) const;
  // To be called for each part of the metadata that is read. Where no two parts overlap, each byte
  // is read twice at most: in its block, and as an object of a heap. An error where there is more,
  // for then parts overlap, and reading all of them could take any time.
  void charge(uint64_t bytes) const;

 private:
  static constexpr uint64_t kSpareBytes = uint64_t{1} << 20;

  std::span<const std::byte> all_;
  mutable uint64_t left_;
};

// Takes numbers, little-endian, and bytes one after the other.
class Hdf5Cursor {
 public:
  explicit Hdf5Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t left() const { return bytes_.size(); }
  uint64_t number(size_t bytes);  // at most 8
  std::span<const std::byte> take(uint64_t count);
  void skip(uint64_t count) { take(count); }

 private:
  std::span<const std::byte> bytes_;
};

// The product of `dims` and `times`; none beyond 2^64.
std::optional<uint64_t> hdf5_product(std::span<const uint64_t> dims, uint64_t times = 1);
// Bytes that hold every number up to `limit`.
size_t hdf5_bytes_for(uint64_t limit);
// `bytes` as text.
std::string_view hdf5_text(std::span<const std::byte> bytes);
void require_signature(std::span<const std::byte> bytes, std::string_view signature);

}  // namespace skein::data
