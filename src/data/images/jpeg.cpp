// libjpeg's errors leave by longjmp, as libpng's do: what a jump would leave undestroyed is a
// member of the reader.
#include <csetjmp>
#include <cstdio>
#include <jpeglib.h>

#include "skein/core/error.h"

#include "decoders.h"

namespace skein::data {
namespace {

// A progressive file may have any number of scans, each of which costs as much as the picture does.
constexpr int kMostScans = 64;

class JpegReader {
 public:
  JpegReader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_.client_data = this;
    errors_.error_exit = &JpegReader::give_up;
    // Level -1: data was damaged, and something was made up for it.
    errors_.emit_message = [](j_common_ptr jpeg, int level) {
      if (level < 0) give_up(jpeg);
    };
    run([this] { jpeg_create_decompress(&jpeg_); });
    progress_.progress_monitor = [](j_common_ptr jpeg) {
      auto* self = static_cast<JpegReader*>(jpeg->client_data);
      if (self->jpeg_.input_scan_number <= kMostScans) return;
      std::snprintf(self->message_, sizeof self->message_, "it has more than %d scans", kMostScans);
      std::longjmp(self->jump_, 1);
    };
    jpeg_.progress = &progress_;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Image read() {
    run([this] {
      jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file_.data()), file_.size());
      jpeg_read_header(&jpeg_, TRUE);
    });
    check_pixels(name_, jpeg_.image_width, jpeg_.image_height, file_.size());
    const bool grey = jpeg_.jpeg_color_space == JCS_GRAYSCALE;
    require(grey || jpeg_.jpeg_color_space == JCS_YCbCr || jpeg_.jpeg_color_space == JCS_RGB,
            "{} is a JPEG file with {} numbers a pixel that are no colours of a screen (inks); "
            "convert it to RGB",
            name_, jpeg_.num_components);
    jpeg_.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
    run([this] { jpeg_start_decompress(&jpeg_); });
    const int64_t channels = grey ? 1 : 3, width = jpeg_.output_width, height = jpeg_.output_height;
    pixels_.resize(height * width * channels);
    run([this] { read_rows(); });
    return planes_of(pixels_, channels, channels, height, width);
  }

 private:
  [[noreturn]] static void give_up(j_common_ptr jpeg) {
    auto* self = static_cast<JpegReader*>(jpeg->client_data);
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    std::snprintf(self->message_, sizeof self->message_, "%s", text);
    std::longjmp(self->jump_, 1);
  }

  void read_rows() {
    const size_t row = size_t{jpeg_.output_width} * jpeg_.output_components;
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW to = pixels_.data() + jpeg_.output_scanline * row;
      jpeg_read_scanlines(&jpeg_, &to, 1);
    }
    jpeg_finish_decompress(&jpeg_);
  }

  template <class Step>
  void run(const Step& step) {
    if (setjmp(jump_) == 0)
      step();
    else
      fail_usage("{} is a damaged JPEG file: {}", name_, static_cast<const char*>(message_));
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_{};
  std::vector<uint8_t> pixels_;
  char message_[JMSG_LENGTH_MAX + 1] = {};
};

}  // namespace

Image decode_jpeg(std::span<const std::byte> file, const std::string& name) {
  return JpegReader(file, name).read();
}

}  // namespace skein::data
