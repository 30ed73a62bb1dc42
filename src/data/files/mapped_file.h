// A whole file in memory, read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace skein {

// Whether there is a regular file, links followed. Error(failure) where that cannot be seen.
bool is_regular_file(const std::string& path);

// A file that is open for reading; where it stands is nobody's.
class OpenFile {
 public:
  // Without a descriptor (-1), and `errno` says why, where it cannot be opened.
  explicit OpenFile(const std::string& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }
  // Error(failure), which calls it `path`, where the system does not say.
  struct stat status(const std::string& path) const;

 private:
  int descriptor_;
};

// Holds no descriptor: a process may map more files than it may have open.
class MappedFile {
 public:
  // A usage error when there is none, or when it is empty or no regular file; Error(failure) where
  // the system refuses it.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* at(uint64_t offset) const {
    return static_cast<const std::byte*>(data_) + offset;
  }
  uint64_t bytes() const { return bytes_; }
  std::span<const std::byte> whole() const { return {at(0), bytes_}; }
  // The same file once more, by the path it was opened by: Error(failure) where that is gone, or
  // where another file has taken its place.
  std::unique_ptr<const OpenFile> open_again(const std::string& path) const;
  // The first `most` bytes, or all there are.
  std::string_view head(size_t most) const;

 private:
  void map(const OpenFile& file, const std::string& path);

  dev_t device_ = 0;
  ino_t inode_ = 0;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

// What a file that begins with `head` seems to be, and what to do with it.
std::string_view what_it_looks_like(std::string_view head);
// Whether that is a kind of its own, not just any bytes.
bool looks_like_something(std::string_view head);

}  // namespace skein
