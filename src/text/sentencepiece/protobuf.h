// The wire format of protocol buffers, as far as files of SentencePiece use it. Every length is
// checked before it is used; fields that nobody asks for are passed over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skein::text {

class ProtoReader {
 public:
  // `where` names the message in errors, all of which are usage errors.
  ProtoReader(std::string_view bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}

  // Goes to the next field, over what was not read of the one before; false at the end.
  bool next();
  uint64_t field() const { return field_; }

  // Of this field, once. A usage error when it is of another type.
  uint64_t whole();
  bool flag() { return whole() != 0; }
  float real();
  std::string_view bytes();
  // A usage error when they are no UTF-8.
  std::string text();

 private:
  enum class Wire : uint8_t { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

  uint64_t varint();
  std::string_view take(uint64_t count);
  void expect(Wire wire);
  [[noreturn]] void damaged(const std::string& what) const;

  std::string_view bytes_;
  std::string where_;
  size_t at_ = 0;
  uint64_t field_ = 0;
  Wire wire_ = Wire::varint;
  bool pending_ = false;  // this field was not read yet
};

class ProtoWriter {
 public:
  void whole(uint64_t field, uint64_t value);
  void real(uint64_t field, float value);
  void bytes(uint64_t field, std::string_view value);
  const std::string& made() const { return made_; }

 private:
  void varint(uint64_t value);

  std::string made_;
};

}  // namespace skein::text
