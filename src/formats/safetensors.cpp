#include "skein/formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <tuple>
#include <utility>

#include "skein/core/error.h"

#include "safetensors_header.h"

namespace skein::formats {
namespace {

constexpr int64_t kMostHeaderBytes = 100'000'000;

static_assert(std::endian::native == std::endian::little);

// Every byte behind the header belongs to exactly one tensor.
void check_tiling(const std::vector<SafeTensor>& tensors, int64_t data_bytes) {
  int64_t end = 0;
  for (const SafeTensor& tensor : tensors) {
    require(tensor.begin >= end,
            "tensor {} begins at byte {} of the data, inside of another, which ends at {}",
            tensor.name, tensor.begin, end);
    require(tensor.begin == end,
            "bytes {} to {} of the data, before tensor {}, belong to no tensor", end, tensor.begin,
            tensor.name);
    end = tensor.end;
  }
  require(end <= data_bytes, "it was cut short: its tensors take {} bytes and {} are there", end,
          data_bytes);
  require(end == data_bytes, "{} bytes behind its last tensor belong to none", data_bytes - end);
}

}  // namespace

std::optional<DType> SafeTensor::dtype() const {
  static const std::map<std::string, DType> known = {
      {"F32", DType::f32}, {"F64", DType::f64}, {"F16", DType::f16}, {"BF16", DType::bf16},
      {"I32", DType::i32}, {"I64", DType::i64}, {"U8", DType::u8},   {"BOOL", DType::u8}};
  const auto found = known.find(type);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

std::string safetensors_type(DType dtype) {
  std::string name(name_of(dtype));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) -> char { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return name;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  // O_NONBLOCK: a pipe that nobody writes must not hang.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  require(descriptor >= 0, "cannot open {}: {}", path, std::strerror(errno));
  file_ = std::make_unique<FileDescriptor>(descriptor, path);
  try {
    read_header();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} cannot be used: {}", path, error.what()));
  }
}

void SafetensorsFile::read_header() {
  struct stat status;
  if (::fstat(file_->get(), &status) != 0) fail("{}", std::strerror(errno));
  require(S_ISREG(status.st_mode), "it is not a regular file");
  constexpr int64_t kLengthBytes = sizeof(uint64_t);
  require(status.st_size >= kLengthBytes, "it has only {} bytes and is no safetensors file",
          status.st_size);
  uint64_t length = 0;
  file_->read_all_at(std::as_writable_bytes(std::span(&length, 1)), 0);
  const int64_t header_bytes = std::min<uint64_t>(length, INT64_MAX);
  require(header_bytes <= kMostHeaderBytes,
          "its header claims {} bytes; {} is the most: is it a safetensors file?", header_bytes,
          kMostHeaderBytes);
  data_begin_ = kLengthBytes + header_bytes;
  require(data_begin_ <= status.st_size, "its header claims {} bytes and the file has {}",
          header_bytes, status.st_size);
  std::string text(header_bytes, '\0');
  file_->read_all_at(std::as_writable_bytes(std::span(text)), kLengthBytes);
  SafetensorsHeader header = parse_safetensors_header(text);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
  std::sort(tensors_.begin(), tensors_.end(), [](const SafeTensor& a, const SafeTensor& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_tiling(tensors_, status.st_size - data_begin_);
}

void SafetensorsFile::read(const SafeTensor& tensor, int64_t first,
                           std::span<std::byte> out) const {
  SKEIN_CHECK(first >= 0 && first + std::ssize(out) <= tensor.bytes());
  file_->read_all_at(out, data_begin_ + tensor.begin + first);
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<SafeTensor> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(path, ExistingFile::replace), tensors_(std::move(tensors)) {
  const std::string header = make_safetensors_header(tensors_, metadata);
  wanted_ = tensors_.empty() ? 0 : tensors_.back().end;
  const uint64_t length = header.size();
  file_.append(std::as_bytes(std::span(&length, 1)));
  file_.append(std::as_bytes(std::span(header)));
}

void SafetensorsWriter::append(std::span<const std::byte> bytes) {
  SKEIN_CHECK(written_ + std::ssize(bytes) <= wanted_);
  file_.append(bytes);
  written_ += std::ssize(bytes);
}

void SafetensorsWriter::finish() {
  SKEIN_CHECK_EQ(written_, wanted_);
  file_.finish();
}

}  // namespace skein::formats
