// Files as checkpoints need them: whole, durable, and with every error said. Every function throws
// Error(failure) naming the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

namespace skein {

// Owned bytes, zero at first. Memory is touched only where it is used.
class Bytes {
 public:
  Bytes() = default;
  // Error(failure) naming the size when memory is short.
  explicit Bytes(int64_t size);
  // A file's bytes, read as they are looked at; what is written stays in memory. They cannot grow.
  static Bytes map(const std::string& path);
  // Lets go of the memory of mapped bytes that have not been written; they are read again when they are looked at.
  void let_go(const std::byte* from, int64_t bytes) const;

  std::byte* data() const { return data_.get(); }
  int64_t size() const { return size_; }
  std::span<const std::byte> span() const { return {data_.get(), static_cast<size_t>(size_)}; }
  // New bytes are zero; the old ones keep their values.
  void resize(int64_t size);

 private:
  struct Free {
    Free() : mapped(0) {}
    explicit Free(size_t bytes) : mapped(bytes) {}
    size_t mapped;  // bytes, when they are a file's
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

// An open file, closed when it goes.
class FileDescriptor {
 public:
  FileDescriptor(const std::string& path, int flags);
  FileDescriptor(int fd, const std::string& path) : path_(path), fd_(fd) {}  // takes the open fd
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  // Closes and reports what the system says.
  void close();

 private:
  std::string path_;
  int fd_ = -1;
};

// A regular file read from its start; anything else under the name (a pipe, a directory) is refused.
class FileReader {
 public:
  explicit FileReader(const std::string& path);
  int64_t size() const { return size_; }
  // The next `bytes`, all of them, or Error(failure).
  void read(std::byte* out, int64_t bytes);

 private:
  std::string path_;
  FileDescriptor file_;
  int64_t size_ = 0;
};

std::string read_text(const std::string& path);

// Makes a file that must not exist yet, reserves its space, writes it with a loop and fsyncs it. False,
// without an error, when the name is taken. A file that could not be finished is removed: a second fsync of
// it would promise what the kernel has dropped.
bool write_exclusive(const std::string& path, std::span<const std::byte> bytes);
bool write_exclusive(const std::string& path, const std::string& text);
// The same, but a name that is taken is an error.
void write_new_file(const std::string& path, std::span<const std::byte> bytes);
void write_new_file(const std::string& path, const std::string& text);
// Written whole or not at all, in place of the regular file that was there; a usage error where it was none.
void replace_file(const std::string& path, const std::string& text);

// fsync of a directory: names made or renamed in it survive a power loss from here on.
void sync_directory(const std::string& path);
// Makes the directory and its missing parents, and makes their names durable.
void make_directories(const std::string& path);
// False when it exists.
bool make_new_directory(const std::string& path);
void rename_path(const std::string& from, const std::string& to);
// Best effort; what cannot be removed stays. True when all is gone.
bool remove_tree(const std::string& path) noexcept;
// Bytes a user may still write on the file system of `path`.
int64_t free_space(const std::string& path);

// "1.5 GiB", for messages.
std::string readable_size(int64_t bytes);

// `directory`/`name`.
std::string join_path(const std::string& directory, const std::string& name);

}  // namespace skein
