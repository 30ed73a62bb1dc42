#include <array>

#include "skein/core/error.h"
#include "skein/text/tokenizer.h"

namespace skein::text {
namespace {

constexpr int32_t kEndOfTextId = 256;

constexpr std::array<char, 256> make_bytes() {
  std::array<char, 256> bytes{};
  for (int byte = 0; byte < 256; ++byte) bytes[byte] = byte;
  return bytes;
}

constexpr std::array<char, 256> kBytes = make_bytes();

class ByteTokenizer final : public Tokenizer {
 public:
  int64_t vocab_size() const override { return kEndOfTextId + 1; }
  int32_t end_of_text() const override { return kEndOfTextId; }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids(text.size());
    for (size_t i = 0; i < text.size(); ++i) ids[i] = text[i] & 0xFF;
    return ids;
  }

  std::string_view bytes_of(int32_t id) const override {
    require(id >= 0 && id <= kEndOfTextId, "token id {} is outside the byte tokenizer's {} ids", id,
            vocab_size());
    return id == kEndOfTextId ? std::string_view() : std::string_view(&kBytes[id], 1);
  }

  std::string to_json() const override { return R"({"type":"bytes","version":1})"; }
};

}  // namespace

std::unique_ptr<Tokenizer> byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace skein::text
