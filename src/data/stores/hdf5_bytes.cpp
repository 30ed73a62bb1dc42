#include "hdf5_bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "skein/data/stores/hdf5_view.h"

namespace skein::data {
namespace {

constexpr size_t kSumBytes = 4;

uint32_t word_at(const std::byte* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

struct MixState {
  uint32_t a, b, c;

  void add(const std::byte* twelve) {
    a += word_at(twelve);
    b += word_at(twelve + 4);
    c += word_at(twelve + 8);
  }
  void mix() {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  void finish() {
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
  }
};

}  // namespace

uint32_t hdf5_sum(std::span<const std::byte> bytes) {
  const uint32_t start = 0xdeadbeefu + static_cast<uint32_t>(bytes.size());
  MixState mixed{start, start, start};
  if (bytes.empty()) return mixed.c;
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    mixed.add(bytes.data());
    mixed.mix();
  }
  std::byte last[12] = {};
  std::memcpy(last, bytes.data(), bytes.size());
  mixed.add(last);
  mixed.finish();
  return mixed.c;
}

std::span<const std::byte> Hdf5Bytes::at(uint64_t from, uint64_t count) const {
  require(from <= size() && count <= size() - from,
          "{} bytes from byte {} on leave the file, which has {}", count, from, size());
  return all_.subspan(from, count);
}

std::span<const std::byte> Hdf5Bytes::block(uint64_t from, uint64_t count,
                                            std::string_view signature) const {
  require(count >= signature.size() && count <= size(), "a block of {} bytes cannot be", count);
  const auto bytes = at(from, count + kSumBytes);
  charge(count + kSumBytes);
  require_signature(bytes, signature);
  require(hdf5_sum(bytes.first(count)) == word_at(bytes.data() + count),
          "the block of metadata at byte {} does not give its checksum: it is damaged", from);
  return bytes.first(count);
}

void Hdf5Bytes::charge(uint64_t bytes) const {
  require(bytes <= left_, "parts of its metadata overlap: they take more bytes than the file has");
  left_ -= bytes;
}

uint64_t Hdf5Cursor::number(size_t bytes) {
  SKEIN_CHECK(bytes <= sizeof(uint64_t));
  uint64_t value = 0;
  const auto taken = take(bytes);
  for (size_t i = bytes; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(taken[i]);
  return value;
}

std::span<const std::byte> Hdf5Cursor::take(uint64_t count) {
  require(count <= bytes_.size(), "a block of metadata ends {} bytes early", count - bytes_.size());
  const auto taken = bytes_.first(count);
  bytes_ = bytes_.subspan(count);
  return taken;
}

size_t hdf5_bytes_for(uint64_t limit) {
  return (std::bit_width(std::max<uint64_t>(limit, 1)) - 1) / 8 + 1;
}

std::optional<uint64_t> hdf5_product(std::span<const uint64_t> dims, uint64_t times) {
  uint64_t made = times;
  for (const uint64_t dim : dims)
    if (__builtin_mul_overflow(made, dim, &made)) return {};
  return made;
}

std::string_view hdf5_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void require_signature(std::span<const std::byte> bytes, std::string_view signature) {
  const std::string_view shown = signature.front() == '\x89' ? "superblock" : signature;
  require(hdf5_text(bytes).starts_with(signature), "there is no block {} where one belongs", shown);
}

}  // namespace skein::data
