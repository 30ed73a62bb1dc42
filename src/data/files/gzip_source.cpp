#include "gzip_source.h"

#include <algorithm>
#include <utility>
#include <vector>
#include <zlib.h>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {
namespace {

constexpr size_t kGzipBuffer = size_t{1} << 18;

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> raw, std::string name)
      : raw_(std::move(raw)), name_(std::move(name)), buffer_(kGzipBuffer) {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) fail("out of memory to decompress {}", name_);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  int64_t consumed() const override { return raw_->consumed(); }
  bool plain() const override { return false; }

  size_t read(char* bytes, size_t room) override {
    stream_.next_out = reinterpret_cast<Bytef*>(bytes);
    stream_.avail_out = narrow<uInt>(std::min(room, kGzipBuffer));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted && feed()) step();
    return wanted - stream_.avail_out;
  }

 private:
  bool feed() {
    if (stream_.avail_in == 0) {
      const size_t held = raw_->read(buffer_.data(), buffer_.size());
      require(held > 0 || !inside_,
              "{}: the gzip data is cut short: it ends after {} compressed bytes in the middle of "
              "a stream; was the download or copy finished?",
              name_, consumed());
      if (held == 0) return false;
      stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_in = narrow<uInt>(held);
    }
    if (!inside_) inflateReset(&stream_);
    inside_ = true;
    return true;
  }

  void step() {
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) inside_ = false;
    if (status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR) return;
    if (status == Z_MEM_ERROR) fail("out of memory to decompress {}", name_);
    fail_usage("{}: damaged gzip data near byte {} of the compressed file: {}", name_,
               consumed() - stream_.avail_in,
               stream_.msg != nullptr ? stream_.msg : "not what gzip writes");
  }

  std::unique_ptr<ByteSource> raw_;
  std::string name_;
  std::vector<char> buffer_;
  z_stream stream_{};
  bool inside_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> raw, std::string name) {
  return std::make_unique<GzipSource>(std::move(raw), std::move(name));
}

}  // namespace skein::data
