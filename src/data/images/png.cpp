// libpng leaves by longjmp where a file is bad. What a jump would leave undestroyed is a member of
// the reader, never a local of a step that runs under it.
#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <png.h>

#include "skein/core/error.h"

#include "decoders.h"

namespace skein::data {
namespace {

constexpr png_alloc_size_t kMostChunk = png_alloc_size_t{8} << 20;

class PngReader {
 public:
  PngReader(std::span<const std::byte> file, const std::string& name) : rest_(file), name_(name) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &PngReader::give_up,
                                  [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    SKEIN_CHECK(info_ != nullptr);
    png_set_read_fn(png_, this, &PngReader::hand_on);
    png_set_chunk_malloc_max(png_, kMostChunk);
    // All but what pixels are made of: texts and the like are many, and unpack to anything.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Image read(const std::optional<Colour>& background) {
    const size_t bytes = rest_.size();
    run([this] { png_read_info(png_, info_); });
    const int64_t width = png_get_image_width(png_, info_),
                  height = png_get_image_height(png_, info_);
    check_pixels(name_, width, height, bytes);
    run([this] { ask_for_bytes(); });
    int64_t stored = png_get_channels(png_, info_);
    pixels_.resize(height * width * stored);
    rows_.resize(height);
    for (int64_t y = 0; y < height; ++y) rows_[y] = pixels_.data() + y * width * stored;
    run([this] {
      png_read_image(png_, rows_.data());
      png_read_end(png_, nullptr);
    });
    if (stored == 2 && lies_on_colour(background)) {
      grey_to_colours();
      stored = 4;
    }
    const int64_t channels = stored <= 2 ? 1 : 3;
    if (stored > channels) lay_over(background, stored, channels, width);
    return planes_of(pixels_, stored, channels, height, width);
  }

 private:
  [[noreturn]] static void give_up(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof self->message_ - 1);
    png_longjmp(png, 1);
  }

  static void hand_on(png_structp png, png_bytep to, size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (self->rest_.size() < count) png_error(png, "it is cut short");
    std::memcpy(to, self->rest_.data(), count);
    self->rest_ = self->rest_.subspan(count);
  }

  void ask_for_bytes() {
    png_set_scale_16(png_);
    png_set_expand(png_);  // palettes to colours, fewer bits to 8, a transparent colour to alpha
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  template <class Step>
  void run(const Step& step) {
    if (setjmp(png_jmpbuf(png_)) == 0)
      step();
    else
      fail_usage("{} is a damaged PNG file: {}", name_, static_cast<const char*>(message_));
  }

  // Of pixels of grey and how much of it covers what lies below.
  bool lies_on_colour(const std::optional<Colour>& background) const {
    if (!background || std::ranges::count(*background, background->front()) == 3) return false;
    for (size_t at = 1; at < pixels_.size(); at += 2)
      if (pixels_[at] < 255) return true;
    return false;
  }

  void grey_to_colours() {
    std::vector<uint8_t> made;
    made.reserve(2 * pixels_.size());
    for (size_t at = 0; at < pixels_.size(); at += 2)
      made.insert(made.end(), {pixels_[at], pixels_[at], pixels_[at], pixels_[at + 1]});
    pixels_ = std::move(made);
  }

  // The last of the stored numbers of a pixel says how much of it covers what lies below.
  void lay_over(const std::optional<Colour>& background, int64_t stored, int64_t channels,
                int64_t width) {
    for (size_t at = 0; at < pixels_.size(); at += stored) {
      const unsigned cover = pixels_[at + channels];
      if (cover == 255) continue;
      const auto pixel = static_cast<int64_t>(at) / stored;
      require(background.has_value(),
              "{} has transparent pixels, the first in row {}, column {} (alpha {} of 255); say "
              "what lies behind them with images.background, such as ffffff",
              name_, pixel / width, pixel % width, cover);
      for (int64_t channel = 0; channel < channels; ++channel) {
        const unsigned above = pixels_[at + channel], below = (*background)[channel];
        pixels_[at + channel] =
            static_cast<uint8_t>((above * cover + below * (255 - cover) + 127) / 255);
      }
    }
  }

  std::span<const std::byte> rest_;
  const std::string& name_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::vector<uint8_t> pixels_;
  std::vector<png_bytep> rows_;
  char message_[256] = {};
};

}  // namespace

Image decode_png(std::span<const std::byte> file, const std::string& name,
                 const std::optional<Colour>& background) {
  return PngReader(file, name).read(background);
}

}  // namespace skein::data
