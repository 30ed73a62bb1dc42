#include "codecs.h"

#include "skein/core/error.h"

#include <algorithm>
#include <lzma.h>
#include <utility>
#include <vector>
#include <zlib.h>
#include <zstd.h>

namespace skein {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;
constexpr uint64_t kXzMemory = uint64_t{1} << 30;

// What the three decompressors share: a buffer of compressed bytes, and how errors are told.
class Decompressor : public ByteSource {
 public:
  Decompressor(std::unique_ptr<ByteSource> raw, std::string name)
      : raw_(std::move(raw)), name_(std::move(name)), buffer_(kBufferBytes) {}

  int64_t consumed() const override { return raw_->consumed(); }
  bool plain() const override { return false; }

 protected:
  // New compressed bytes once the old ones are used up; false at the end of the input.
  bool refill() {
    held_ = raw_->read(buffer_.data(), buffer_.size());
    return held_ > 0;
  }

  [[noreturn]] void damaged(const std::string& kind, const std::string& reason, size_t unused) const {
    fail_usage("{}: damaged {} data near byte {} of the compressed file: {}", name_, kind,
               consumed() - static_cast<int64_t>(unused), reason);
  }

  [[noreturn]] void cut_short(const std::string& kind) const {
    fail_usage(
        "{}: the {} data is cut short: it ends after {} compressed bytes in the middle of a stream; was the "
        "download or copy finished?",
        name_, kind, consumed());
  }

  std::unique_ptr<ByteSource> raw_;
  std::string name_;
  std::vector<char> buffer_;
  size_t held_ = 0;
};

class GzipSource final : public Decompressor {
 public:
  GzipSource(std::unique_ptr<ByteSource> raw, std::string name)
      : Decompressor(std::move(raw), std::move(name)) {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) fail("out of memory to decompress {}", name_);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  size_t read(char* bytes, size_t room) override {
    stream_.next_out = reinterpret_cast<Bytef*>(bytes);
    stream_.avail_out = static_cast<uInt>(std::min(room, kBufferBytes));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted && feed()) step();
    return wanted - stream_.avail_out;
  }

 private:
  bool feed() {
    if (stream_.avail_in == 0) {
      if (!refill()) {
        if (inside_) cut_short("gzip");
        return false;
      }
      stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_in = static_cast<uInt>(held_);
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
    damaged("gzip", stream_.msg != nullptr ? stream_.msg : "not what gzip writes", stream_.avail_in);
  }

  z_stream stream_{};
  bool inside_ = false;
};

class XzSource final : public Decompressor {
 public:
  XzSource(std::unique_ptr<ByteSource> raw, std::string name)
      : Decompressor(std::move(raw), std::move(name)) {
    if (lzma_stream_decoder(&stream_, kXzMemory, LZMA_CONCATENATED) != LZMA_OK)
      fail("out of memory to decompress {}", name_);
  }
  ~XzSource() override { lzma_end(&stream_); }

  size_t read(char* bytes, size_t room) override {
    stream_.next_out = reinterpret_cast<uint8_t*>(bytes);
    stream_.avail_out = room;
    while (stream_.avail_out == room && !done_) {
      if (stream_.avail_in == 0 && !ended_) {
        ended_ = !refill();
        stream_.next_in = reinterpret_cast<const uint8_t*>(buffer_.data());
        stream_.avail_in = held_;
      }
      step();
    }
    return room - stream_.avail_out;
  }

 private:
  void step() {
    switch (lzma_code(&stream_, ended_ ? LZMA_FINISH : LZMA_RUN)) {
      case LZMA_OK:
        return;
      case LZMA_STREAM_END:
        done_ = true;
        return;
      case LZMA_BUF_ERROR:
        cut_short("xz");
      case LZMA_MEM_ERROR:
        fail("out of memory to decompress {}", name_);
      case LZMA_MEMLIMIT_ERROR:
        fail_usage(
            "{}: decompressing it would take more than {} MiB of memory; compress it with a lower preset",
            name_, kXzMemory >> 20);
      case LZMA_FORMAT_ERROR:
        damaged("xz", "no xz stream begins here", stream_.avail_in);
      default:
        damaged("xz", "a checksum or length does not hold", stream_.avail_in);
    }
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ended_ = false;
  bool done_ = false;
};

struct FreeZstd {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class ZstdSource final : public Decompressor {
 public:
  ZstdSource(std::unique_ptr<ByteSource> raw, std::string name)
      : Decompressor(std::move(raw), std::move(name)), context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) fail("out of memory to decompress {}", name_);
  }

  size_t read(char* bytes, size_t room) override {
    ZSTD_outBuffer out{bytes, room, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size && !flushing_) {
        if (!refill()) {
          if (inside_) cut_short("zstd");
          return 0;
        }
        in_ = {buffer_.data(), held_, 0};
      }
      step(out);
    }
    return out.pos;
  }

 private:
  // What is left inside the decoder comes out without new input as long as it fills what it is given.
  void step(ZSTD_outBuffer& out) {
    const size_t status = ZSTD_decompressStream(context_.get(), &out, &in_);
    if (ZSTD_isError(status) != 0) damaged("zstd", ZSTD_getErrorName(status), in_.size - in_.pos);
    inside_ = status != 0;
    flushing_ = inside_ && out.pos == out.size;
  }

  std::unique_ptr<ZSTD_DCtx, FreeZstd> context_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool inside_ = false;
  bool flushing_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> raw, std::string name) {
  return std::make_unique<GzipSource>(std::move(raw), std::move(name));
}

std::unique_ptr<ByteSource> xz_source(std::unique_ptr<ByteSource> raw, std::string name) {
  return std::make_unique<XzSource>(std::move(raw), std::move(name));
}

std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<ByteSource> raw, std::string name) {
  return std::make_unique<ZstdSource>(std::move(raw), std::move(name));
}

}  // namespace skein
