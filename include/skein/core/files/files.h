// Files as checkpoints need them: whole, durable, and with every error said. What the system
// refuses is a SystemError, which names the path and the system's reason. Error(usage): nothing is
// there to be read, or what stands there is of another kind than it must be. A plain
// Error(failure): a name that must be free is taken, and where a function says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "skein/core/error.h"

namespace skein {

// What the system refused to do: a fault of the outside world, Error(failure), told from what is
// wrong in a file.
class SystemError : public Error {
 public:
  SystemError(int number, const std::string& message, bool given_up = false)
      : Error(ExitCode::failure, message), number_(number), given_up_(given_up) {}
  int number() const { return number_; }       // an errno
  bool given_up() const { return given_up_; }  // it was tried again already (retry.h)

 private:
  int number_;
  bool given_up_;
};

// Throws SystemError: the text, a colon, and the system's words for `number`.
template <class... Args>
[[noreturn]] void fail_system(int number, fmt::format_string<Args...> text, Args&&... args) {
  throw SystemError(number, fmt::format(text, std::forward<Args>(args)...) + ": " +
                                std::generic_category().message(number));
}

// What the error says, and what to do about a file that could not be made or written.
std::string with_advice(const SystemError& error);

// Bytes as what is written to files.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Owned bytes, zero at first. Memory is touched only where it is used.
class Bytes {
 public:
  Bytes() = default;
  // Error(failure) naming the size when memory is short.
  explicit Bytes(int64_t size);
  std::byte* data() const { return data_.get(); }
  int64_t size() const { return size_; }
  int64_t capacity() const { return capacity_; }
  std::span<const std::byte> span() const { return std::span<const std::byte>(data_.get(), size_); }
  std::string_view text() const { return as_text(span()); }
  // New bytes are zero; the old ones keep their values.
  void resize(int64_t size);

 private:
  struct Deleter {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Deleter> data_;
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
  struct stat status() const;
  // All of `bytes`, from byte `at` of the file on.
  void write_at(std::span<const std::byte> bytes, uint64_t at) const;
  // Up to bytes.size() bytes; fewer only at the end of the file.
  size_t read_at(std::span<std::byte> bytes, uint64_t at) const;
  // All of them; Error(failure), never SystemError, where they cannot be had.
  void read_all_at(std::span<std::byte> bytes, uint64_t at) const;
  // fsync: what was written survives a power loss from here on.
  void sync() const;
  // Closes and reports what the system says.
  void close();

 private:
  std::string path_;
  int fd_ = -1;
};

// A regular file read from its start. Error(usage) where nothing is there or anything else (a pipe,
// a directory), and where the file ends early.
class FileReader {
 public:
  explicit FileReader(const std::string& path);
  int64_t size() const { return size_; }
  // The next `bytes`, all of them, or an error.
  void read(std::byte* out, int64_t bytes);

 private:
  std::string path_;
  FileDescriptor file_;
  int64_t size_ = 0;
};

std::string read_text(const std::string& path);

// Whether anything is there, links followed. Only what the system calls missing is not; after every
// other answer it is tried again (retry.h), and then thrown: what could not be looked at must not
// be taken for nothing.
bool is_there(const std::string& path);
bool is_folder(const std::string& path);
// The text of a file; nothing where there is none. Tried again alike.
std::optional<std::string> text_if_there(const std::string& path);

// Makes a file that must not exist yet, reserves its space, writes it with a loop and fsyncs it.
// False, without an error, when the name is taken. A file that could not be finished is removed: a
// second fsync of it would promise what the kernel has dropped.
bool write_exclusive(const std::string& path, std::string_view bytes);
// The same, but a name that is taken is an error.
void write_new_file(const std::string& path, std::string_view bytes);
// Written whole or not at all, instead of the regular file that was there; a usage error where it
// was none, a plain Error(failure) where the name cannot be given. The new name is durable after a
// sync_directory().
void replace_file(const std::string& path, std::string_view bytes);
// The same with what `fill` writes. The new file, open to be read and appended to.
std::unique_ptr<FileDescriptor> put_in_place(const std::string& path,
                                             const std::function<void(int fd)>& fill);

// Removes what killed processes have left beside `path` of such a replacement.
void remove_unfinished(const std::string& path);
// All of the bytes, from where the open file stands; `path` is for the error.
void write_all(int fd, std::string_view bytes, const std::string& path);

// fsync of a directory: names made or renamed in it survive a power loss from here on.
void sync_directory(const std::string& path);
// The same of the directory that holds `path`.
void sync_parent(const std::string& path);
// fsync of a file's bytes, by whichever descriptor they were written.
void sync_file(const std::string& path);
// Error(failure) where `missing`, at which nothing was found, is a symbolic link: the storage that
// it leads to may not be mounted at the moment.
void require_no_dangling_link(const std::string& missing);
// The directory at `path`, or the nearest of its parents that is there, in which it would be made.
// Errors as of make_directories.
std::string existing_directory(const std::string& path);
// Makes the directory and its missing parents, and makes their names durable. How many were
// missing; Error(usage) where a file stands in their way, Error(failure) as above where a link is
// among them.
int make_directories(const std::string& path);
// False when it exists.
bool make_new_directory(const std::string& path);
void rename_path(const std::string& from, const std::string& to);
// Best effort; what cannot be removed stays. True when all is gone.
bool remove_tree(const std::string& path) noexcept;
// Bytes a user may still write on the file system of `path`.
int64_t free_space(const std::string& path);

// 16 random hex digits: a name that no other process gives.
std::string unique_name();

// `directory`/`name`.
std::string join_path(const std::string& directory, const std::string& name);

}  // namespace skein
