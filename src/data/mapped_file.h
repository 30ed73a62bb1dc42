// A whole file in memory, read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace skein {

// Whether there is a regular file, links followed. Error(failure) where that cannot be seen.
bool is_regular_file(const std::string& path);

class MappedFile {
 public:
  // A usage error when there is none, or when it is empty or no regular file; Error(failure) where
  // the system refuses it.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* at(uint64_t offset) const { return static_cast<const std::byte*>(data_) + offset; }
  uint64_t bytes() const { return bytes_; }
  std::span<const std::byte> whole() const { return {at(0), bytes_}; }
  // Open for reading; where it stands is nobody's.
  int descriptor() const { return descriptor_; }
  // The first `most` bytes, or all there are.
  std::string_view head(size_t most) const;

 private:
  void map(const std::string& path);

  int descriptor_;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

// What a file that begins with `head` seems to be, and what to do with it.
std::string_view what_it_looks_like(std::string_view head);
// Whether that is a kind of its own, not just any bytes.
bool looks_like_something(std::string_view head);

}  // namespace skein
