// The bytes of one input file or of stdin, decompressed. gzip, xz, zstd, bzip2 and lz4 are known by
// their first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace skein::data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `room` bytes; 0 only at the end. A usage error naming the input and the byte in it when
  // compressed data is damaged or cut short, a failure when the input cannot be read.
  virtual size_t read(char* bytes, size_t room) = 0;
  // Bytes taken from the input so far, before decompression.
  virtual int64_t consumed() const = 0;
  // Whether read() hands on the bytes of the input as they are.
  virtual bool plain() const = 0;
  // Moves as lseek to a byte of the input and returns where it is; -1 where that cannot be, as in
  // pipes and decompressed data.
  virtual int64_t seek(int64_t /*offset*/, int /*whence*/) { return -1; }
};

// As messages call it: the path, "stdin" for "-".
std::string input_name(const std::string& path);

// Opens a path, or stdin for "-". A usage error when it is missing, a directory, an archive of
// several files, or when what it holds is no text (images, programs, Parquet, UTF-16, any binary
// data: judged by its first bytes), or when its suffix promises a compression that it does not
// have.
std::unique_ptr<ByteSource> open_source(const std::string& path);
// The same of a file that may hold anything.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

}  // namespace skein::data
