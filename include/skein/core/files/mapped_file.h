// A whole file in memory, read-only: its bytes are read as they are looked at. Where the disk
// cannot read them then, or the file has been cut, the system ends the process (SIGBUS): what must
// be able to fail reads open_again() instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "skein/core/files/files.h"

namespace skein {

// Holds no descriptor: a process may map more files than it may have open.
class MappedFile {
 public:
  // A usage error where it is no regular file; SystemError where the system refuses it, as it does
  // an empty one.
  explicit MappedFile(const std::string& path);
  // The same of an open file.
  MappedFile(const FileDescriptor& file, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* at(uint64_t offset) const {
    return static_cast<const std::byte*>(data_) + offset;
  }
  uint64_t bytes() const { return bytes_; }
  std::span<const std::byte> whole() const { return {at(0), bytes_}; }
  // The first `most` bytes, or all there are.
  std::string_view head(size_t most) const;
  // The same file once more, by the path it was opened by: Error(failure) where that is gone, or
  // where another file has replaced it.
  std::unique_ptr<const FileDescriptor> open_again(const std::string& path) const;
  // Lets go of the memory of these bytes; they are read again when they are looked at.
  void let_go(const std::byte* from, int64_t bytes) const;

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace skein
