#include "skein/data/byte_source.h"

#include "skein/core/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "codecs.h"
#include "skein/data/suffix.h"

namespace skein {
namespace {

constexpr size_t kPeekBytes = 8;

std::string shown(const std::string& path) { return path == "-" ? "stdin" : path; }

// A file as it is. Its first bytes may be looked at before they are read.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : name_(shown(path)) {
    descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    require(descriptor_ >= 0, "cannot read {}: {}", path, std::strerror(errno));
  }
  ~FileSource() override {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }

  std::string_view peek() {
    while (ahead_end_ < ahead_.size()) {
      const size_t bytes = fill(ahead_.data() + ahead_end_, ahead_.size() - ahead_end_);
      if (bytes == 0) break;
      ahead_end_ += bytes;
    }
    return {ahead_.data(), ahead_end_};
  }

  size_t read(char* bytes, size_t room) override {
    size_t got = std::min(room, ahead_end_ - ahead_begin_);
    std::memcpy(bytes, ahead_.data() + ahead_begin_, got);
    ahead_begin_ += got;
    if (got == 0) got = fill(bytes, room);
    consumed_ += static_cast<int64_t>(got);
    return got;
  }

  int64_t consumed() const override { return consumed_; }
  bool plain() const override { return true; }

 private:
  size_t fill(char* bytes, size_t room) {
    while (true) {
      const ssize_t got = ::read(descriptor_, bytes, room);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno == EINTR) continue;
      require(errno != EISDIR, "cannot read {}: it is a directory", name_);
      fail("cannot read {} after {} bytes: {}", name_, consumed_, std::strerror(errno));
    }
  }

  std::string name_;
  int descriptor_ = -1;
  std::array<char, kPeekBytes> ahead_{};
  size_t ahead_begin_ = 0, ahead_end_ = 0;
  int64_t consumed_ = 0;
};

struct Signature {
  std::string_view bytes;
  const char* advice;
};

// None of these can begin UTF-8 text, or would be sensible text.
constexpr std::array<Signature, 9> kForeign = {{
    {"\xFF\xFE", "UTF-16 text; convert it with `iconv -f UTF-16 -t UTF-8`"},
    {"\xFE\xFF", "UTF-16 text; convert it with `iconv -f UTF-16 -t UTF-8`"},
    {"PK\x03\x04", "a zip archive; unpack it"},
    {"7z\xBC\xAF", "a 7z archive; unpack it"},
    {"BZh91AY&", "bzip2 data; unpack it, or compress it with gzip, xz or zstd"},
    {"\x04\x22\x4D\x18", "lz4 data; unpack it, or compress it with gzip, xz or zstd"},
    {"PAR1",
     "a Parquet file; convert it to JSONL, for instance with DuckDB: "
     "`COPY (SELECT text FROM 'x.parquet') TO 'x.jsonl'`"},
    {"\x89HDF", "an HDF5 file; is it already a token store?"},
    {"%PDF-", "a PDF file; extract its text"},
}};

constexpr std::string_view kGzip = "\x1F\x8B";
constexpr std::string_view kXz(
    "\xFD"
    "7zXZ\0",
    6);
constexpr std::string_view kZstd = "\x28\xB5\x2F\xFD";

void refuse_foreign(std::string_view head, const std::string& name) {
  for (const auto& [bytes, advice] : kForeign)
    require(!head.starts_with(bytes), "{} is no text: it looks like {}", name, advice);
}

void check_suffix(const std::string& path, std::string_view head) {
  const std::string_view suffix = compression_in_name(path);
  require(suffix.empty(), "{} is named {} but does not begin like such data ({} bytes looked at); rename or fetch it again", path, suffix, head.size());
}

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::string& path) {
  auto file = std::make_unique<FileSource>(path);
  const std::string name = shown(path);
  const std::string_view head = file->peek();
  if (head.starts_with(kGzip)) return gzip_source(std::move(file), name);
  if (head.starts_with(kXz)) return xz_source(std::move(file), name);
  if (head.starts_with(kZstd)) return zstd_source(std::move(file), name);
  refuse_foreign(head, name);
  check_suffix(path, head);
  return file;
}

}  // namespace skein
