#include "mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "skein/core/error.h"

namespace skein {
namespace {

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](unsigned char c) {
    return c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t' || c == '\f';
  });
}

constexpr std::string_view kUnknown = "binary data of no known kind";

}  // namespace

bool is_regular_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error && !names_nothing(error.value())) fail("cannot look at {}: {}", path, error.message());
  return std::filesystem::is_regular_file(status);
}

// O_NONBLOCK: opening a pipe that nobody writes must not hang; it changes nothing for a regular
// file.
OpenFile::OpenFile(const std::string& path)
    : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

struct stat OpenFile::status(const std::string& path) const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0)
    fail("cannot examine {}: {}", path, std::generic_category().message(errno));
  return status;
}

MappedFile::MappedFile(const std::string& path) {
  const OpenFile file(path);
  if (file.descriptor() < 0)
    fail_to_open(errno, "cannot open token store {} (`skein-data encode` makes one from text)",
                 path);
  map(file, path);
}

MappedFile::~MappedFile() { munmap(data_, bytes_); }

void MappedFile::map(const OpenFile& file, const std::string& path) {
  const struct stat status = file.status(path);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  require(S_ISREG(status.st_mode), "{} is {}, not a token store", path,
          S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  bytes_ = static_cast<uint64_t>(status.st_size);
  require(bytes_ > 0, "{} is empty (0 bytes); `skein-data encode` makes token stores from text",
          path);
  data_ = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (data_ == MAP_FAILED)
    fail("cannot map {} ({} bytes): {}", path, bytes_, std::generic_category().message(errno));
}

// The map keeps the number of its file from being given to another one.
std::unique_ptr<const OpenFile> MappedFile::open_again(const std::string& path) const {
  auto file = std::make_unique<const OpenFile>(path);
  if (file->descriptor() < 0)
    fail("cannot open {} again to read it: {}", path, std::generic_category().message(errno));
  const struct stat status = file->status(path);
  if (status.st_dev != device_ || status.st_ino != inode_)
    fail("{} cannot be read again: another file took its place after it was opened; start again",
         path);
  return file;
}

std::string_view MappedFile::head(size_t most) const {
  return {static_cast<const char*>(data_), std::min<size_t>(most, bytes_)};
}

std::string_view what_it_looks_like(std::string_view head) {
  using namespace std::literals;
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"\x1f\x8b\x08"sv, "gzip data: decompress it and encode the text"},
      {"\x28\xb5\x2f\xfd"sv, "zstd data: decompress it and encode the text"},
      {"\xfd"
       "7zXZ\0"sv,
       "xz data: decompress it and encode the text"},
      {"PK\x03\x04"sv, "a zip archive: unpack it and encode the text"},
      {"PAR1"sv, "a Parquet file: write its text column as JSON lines and encode those"},
      {"MMIDIDX\0\0"sv, "a Megatron-LM index: give it the suffix .idx, with its .bin beside it"},
      {"\x93NUMPY"sv, "a NumPy array"},
  };
  for (const auto& [signature, kind] : kinds)
    if (head.starts_with(signature)) return kind;
  if (head.size() > 8 && head[8] == '{' && head[7] == '\0' && head[6] == '\0')
    return "a safetensors file";
  if (is_text(head)) return "text: encode it first";
  return kUnknown;
}

bool looks_like_something(std::string_view head) { return what_it_looks_like(head) != kUnknown; }

}  // namespace skein
