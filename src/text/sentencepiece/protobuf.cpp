#include "protobuf.h"

#include <bit>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/text/split/utf8.h"

namespace skein::text {
namespace {

constexpr uint64_t kLargestField = (uint64_t{1} << 29) - 1;

}  // namespace

void ProtoReader::damaged(const std::string& what) const {
  fail_usage("{} is damaged: {} at byte {} of {}; is it a SentencePiece model? Get the file anew",
             where_, what, at_, bytes_.size());
}

uint64_t ProtoReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == bytes_.size()) damaged("it ends within a number");
    const uint64_t byte = bytes_[at_++] & 0xFF;
    if (shift == 63 && byte > 1) damaged("a number beyond 64 bits");
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  damaged("a number of more than 10 bytes");
}

std::string_view ProtoReader::take(uint64_t count) {
  if (count > bytes_.size() - at_)
    damaged(fmt::format("{} bytes are announced and {} are there,", count, bytes_.size() - at_));
  at_ += count;
  return bytes_.substr(at_ - count, count);
}

bool ProtoReader::next() {
  if (pending_) {
    pending_ = false;
    switch (wire_) {
      case Wire::varint: varint(); break;
      case Wire::eight_bytes: take(8); break;
      case Wire::four_bytes: take(4); break;
      case Wire::bytes: take(varint()); break;
    }
  }
  if (at_ == bytes_.size()) return false;
  const uint64_t tag = varint();
  field_ = tag >> 3;
  const uint64_t wire = tag & 7;
  if (field_ == 0 || field_ > kLargestField) damaged(fmt::format("a field of number {}", field_));
  if (wire != 0 && wire != 1 && wire != 2 && wire != 5)
    damaged(fmt::format("field {} has the unknown type {}", field_, wire));
  wire_ = static_cast<Wire>(wire);
  pending_ = true;
  return true;
}

void ProtoReader::expect(Wire wire) {
  SKEIN_CHECK(pending_);
  if (wire_ != wire)
    damaged(fmt::format("field {} has type {} instead of {}", field_, static_cast<int>(wire_),
                        static_cast<int>(wire)));
  pending_ = false;
}

uint64_t ProtoReader::whole() {
  expect(Wire::varint);
  return varint();
}

float ProtoReader::real() {
  expect(Wire::four_bytes);
  const std::string_view bytes = take(4);
  uint32_t bits = 0;
  for (size_t i = 4; i-- > 0;) bits = bits << 8 | (bytes[i] & 0xFF);
  return std::bit_cast<float>(bits);
}

std::string_view ProtoReader::bytes() {
  expect(Wire::bytes);
  return take(varint());
}

std::string ProtoReader::text() {
  const std::string_view bytes = this->bytes();
  if (!valid_utf8(bytes)) damaged(fmt::format("field {} is not valid UTF-8", field_));
  return std::string(bytes);
}

void ProtoWriter::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) made_.push_back(static_cast<char>(value | 0x80));
  made_.push_back(static_cast<char>(value));
}

void ProtoWriter::whole(uint64_t field, uint64_t value) {
  varint(field << 3);
  varint(value);
}

void ProtoWriter::real(uint64_t field, float value) {
  varint(field << 3 | 5);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) made_.push_back(static_cast<char>(bits >> shift));
}

void ProtoWriter::bytes(uint64_t field, std::string_view value) {
  varint(field << 3 | 2);
  varint(value.size());
  made_.append(value);
}

}  // namespace skein::text
