#include <cctype>

#include "skein/core/error.h"

#include "decoders.h"

namespace skein::data {
namespace {

constexpr uint64_t kMostPnmNumber = 1'000'000'000;

class PnmReader {
 public:
  PnmReader(std::span<const std::byte> file, const std::string& name)
      : text_(reinterpret_cast<const char*>(file.data()), file.size()), name_(name) {}

  Image read() {
    const char kind = text_[1];
    at_ = 2;
    const uint64_t width = number("width"), height = number("height"),
                   most = number("largest value");
    check_pixels(name_, width, height, text_.size());
    require(most >= 1 && most <= 65535,
            "{} is a PNM file whose largest value is {}; it must lie in [1, 65535]", name_, most);
    const int64_t channels = kind == '3' || kind == '6' ? 3 : 1;
    const uint64_t count = width * height * channels;
    const bool digits = kind == '2' || kind == '3';
    if (!digits) skip_break(count * (most > 255 ? 2 : 1));
    std::vector<uint8_t> pixels(count);
    for (uint8_t& pixel : pixels) {
      const uint64_t value = digits ? number("value") : binary(most > 255);
      require(value <= most, "{} is a damaged PNM file: a value is {}, above its largest, {}",
              name_, value, most);
      pixel = static_cast<uint8_t>((value * 255 + most / 2) / most);
    }
    return planes_of(pixels, channels, channels, static_cast<int64_t>(height),
                     static_cast<int64_t>(width));
  }

 private:
  [[noreturn]] void cut_short() const { fail_usage("{} is a PNM file that is cut short", name_); }

  void skip_spaces() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (std::isspace(static_cast<unsigned char>(text_[at_])) == 0)
        return;
      if (at_ == text_.size()) return;
    }
  }

  uint64_t number(const char* what) {
    skip_spaces();
    if (at_ == text_.size()) cut_short();
    uint64_t value = 0;
    const size_t begun = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      value = std::min(value * 10 + static_cast<uint64_t>(text_[at_] - '0'), kMostPnmNumber);
    require(at_ > begun, "{} is a damaged PNM file: at byte {} a number should stand, its {}",
            name_, begun, what);
    return value;
  }

  // One character divides the header from the values.
  void skip_break(uint64_t bytes) {
    if (at_ == text_.size() || text_.size() - ++at_ < bytes) cut_short();
  }

  uint64_t binary(bool wide) {
    const auto byte = [this] { return static_cast<uint64_t>(static_cast<uint8_t>(text_[at_++])); };
    const uint64_t first = byte();
    return wide ? first << 8 | byte() : first;
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

}  // namespace

Image decode_pnm(std::span<const std::byte> file, const std::string& name) {
  return PnmReader(file, name).read();
}

}  // namespace skein::data
