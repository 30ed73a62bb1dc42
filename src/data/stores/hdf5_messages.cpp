#include "hdf5_messages.h"

#include <algorithm>
#include <array>

namespace skein::data {
namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t kMostDims = 32;
constexpr uint64_t kLongestName = 4096;

constexpr std::array<uint8_t, 15> kF32 = {0x20, 31, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0};
constexpr std::array<uint8_t, 15> kF64 = {0x20, 63, 0, 0, 0, 64, 0, 52, 11, 0, 52, 0xff, 3, 0, 0};

bool is_real(Bytes bits, Bytes properties, uint64_t bytes) {
  if ((bytes != 4 && bytes != 8) || properties.size() < 12) return false;
  std::array<uint8_t, 15> found{};
  const auto plain = [](std::byte byte) { return std::to_integer<uint8_t>(byte); };
  std::transform(bits.begin(), bits.end(), found.begin(), plain);
  std::transform(properties.begin(), properties.begin() + 12, found.begin() + 3, plain);
  return found == (bytes == 4 ? kF32 : kF64);
}

// Little-endian and without padding.
bool is_whole_number(uint64_t bits, Hdf5Cursor properties, uint64_t bytes) {
  if ((bits & 7) != 0 || properties.left() < 4) return false;
  const uint64_t first = properties.number(2), used = properties.number(2);
  return first == 0 && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) && used == 8 * bytes;
}

}  // namespace

uint64_t hdf5_width(uint64_t flags) { return uint64_t{1} << (flags & 3); }

std::vector<uint64_t> hdf5_dims(Bytes data) {
  Hdf5Cursor cursor(data);
  const uint64_t version = cursor.number(1), rank = cursor.number(1);
  cursor.skip(1);
  const uint64_t kind = cursor.number(1);
  require(version == 1 || version == 2, "a shape has version {}", version);
  require(rank <= kMostDims, "a shape has {} dims", rank);
  if (version == 1) cursor.skip(4);
  if (version == 2 && kind == 2) return {0};  // no element at all
  std::vector<uint64_t> dims;
  for (uint64_t d = 0; d < rank; ++d) dims.push_back(cursor.number(8));
  return dims;
}

Hdf5Type hdf5_type(Bytes data) {
  Hdf5Cursor cursor(data);
  const uint64_t kind = cursor.number(1) & 15;
  const Bytes bit_field = cursor.take(3);
  const uint64_t bits = Hdf5Cursor(bit_field).number(3);
  Hdf5Type type;
  type.bytes = cursor.number(4);
  if (kind == 0 && is_whole_number(bits, cursor, type.bytes)) {
    type.kind = Hdf5Type::Kind::integer;
    type.is_signed = (bits & 8) != 0;
  } else if (kind == 1 && is_real(bit_field, cursor.take(cursor.left()), type.bytes)) {
    type.kind = Hdf5Type::Kind::real;
  } else if (kind == 3) {
    type.kind = Hdf5Type::Kind::text;
  } else if (kind == 9 && (bits & 15) == 1 && type.bytes == 16) {
    type.kind = Hdf5Type::Kind::variable_text;
  }
  return type;
}

std::pair<std::string_view, Hdf5Attribute> hdf5_attribute(Bytes data) {
  Hdf5Cursor cursor(data);
  const uint64_t version = cursor.number(1), shared = cursor.number(1);
  require(version == 3 && shared == 0,
          "an attribute has version {} and flags {}; write the file with libver=\"latest\"",
          version, shared);
  const uint64_t name = cursor.number(2), type = cursor.number(2), dims = cursor.number(2);
  cursor.skip(1);  // how the name is encoded
  const std::string_view named = hdf5_text(cursor.take(name));
  Hdf5Attribute made;
  made.type = hdf5_type(cursor.take(type));
  made.dims = hdf5_dims(cursor.take(dims));
  const auto bytes = hdf5_product(made.dims, made.type.bytes);
  const std::string_view shown = named.substr(0, named.find('\0'));
  require(bytes && *bytes <= cursor.left(),
          "attribute {} holds fewer bytes than its type and shape take", shown);
  made.data = cursor.take(*bytes);
  return {shown, made};
}

std::pair<std::string_view, Hdf5Link> hdf5_link(Bytes data) {
  Hdf5Cursor cursor(data);
  const uint64_t version = cursor.number(1), flags = cursor.number(1);
  require(version == 1, "a link has version {}", version);
  const uint64_t kind = (flags & 8) ? cursor.number(1) : 0;
  if (flags & 4) cursor.skip(8);
  if (flags & 16) cursor.skip(1);
  const uint64_t length = cursor.number(hdf5_width(flags));
  require(length <= kLongestName, "a link has a name of {} bytes; {} is the most", length,
          kLongestName);
  const std::string_view name = hdf5_text(cursor.take(length));
  if (kind != 0) return {name, {}};
  return {name, {true, cursor.number(8)}};
}

void hdf5_layout(Bytes data, Hdf5Dataset& dataset) {
  constexpr uint64_t kContiguous = 1;
  Hdf5Cursor cursor(data);
  const uint64_t version = cursor.number(1), kind = cursor.number(1);
  require(version >= 3 && version <= 5,
          "the layout of a dataset has version {}; write the file with libver=\"latest\"", version);
  if (kind != kContiguous) return;
  const uint64_t at = cursor.number(8);
  dataset.bytes = cursor.number(8);
  if (at != kNoAddress) dataset.at = at;
}

uint64_t Hdf5Attribute::count() const { return hdf5_product(dims).value_or(kNoAddress); }

std::vector<int64_t> Hdf5Attribute::integers() const {
  require(type.kind == Hdf5Type::Kind::integer, "an attribute holds no little-endian integers");
  std::vector<int64_t> values;
  const auto spare = static_cast<int>(64 - 8 * type.bytes);
  for (Hdf5Cursor cursor(data); cursor.left() > 0;) {
    const uint64_t high = cursor.number(type.bytes) << spare;
    values.push_back(type.is_signed ? static_cast<int64_t>(high) >> spare
                                    : static_cast<int64_t>(high >> spare));
  }
  return values;
}

}  // namespace skein::data
