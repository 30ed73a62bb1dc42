#include "skein/core/files/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

#include "skein/core/files/output_target.h"
#include "skein/core/files/retry.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"

namespace skein {
namespace {

constexpr int64_t kLongestRead = int64_t{1} << 26;
constexpr size_t kUniqueLength = 16;  // of unique_name()

// Reserving space is a courtesy that some file systems do not offer: only a plain "no room" counts.
void reserve(int fd, int64_t bytes, const std::string& path) {
  if (bytes == 0 || ::fallocate(fd, 0, 0, bytes) == 0) return;
  const int error = errno;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO)
    fail_system(error, "cannot reserve {} for {}", readable_size(bytes), path);
}

void write_durably(FileDescriptor& file, std::string_view bytes, const std::string& path) {
  reserve(file.get(), std::ssize(bytes), path);
  write_all(file.get(), bytes, path);
  file.sync();
  file.close();
}

const char* advice_for(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return "free some space there, or choose a folder that has more";
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP: return "let this user write there, or choose another folder";
    default: return "see whether that storage is mounted and healthy, then start again";
  }
}

int open_file(const std::string& path, int flags) {
  int fd = -1;
  do fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  while (fd < 0 && errno == EINTR);
  return fd;
}

// O_NONBLOCK: opening a pipe that nobody writes must not hang; it changes nothing for a regular
// file.
int open_to_read(const std::string& path) {
  const int fd = open_file(path, O_RDONLY | O_NONBLOCK);
  if (fd >= 0) return fd;
  const int error = errno;
  if (names_nothing(error))
    fail_usage("cannot open {}: {}", path, std::generic_category().message(error));
  fail_system(error, "cannot open {}", path);
}

std::optional<mode_t> mode_at(const std::string& path) {
  return retried([&]() -> std::optional<mode_t> {
    struct stat status;
    if (::stat(path.c_str(), &status) == 0) return status.st_mode;
    const int error = errno;
    require(error != ENAMETOOLONG, "{} is a longer name than the file system takes; choose another",
            path);
    if (names_nothing(error)) return {};
    fail_system(error, "cannot look at {}", path);
  });
}

}  // namespace

Bytes::Bytes(int64_t size) { resize(size); }

void Bytes::resize(int64_t size) {
  SKEIN_CHECK(size >= 0);
  if (size > capacity_) {
    auto* grown = static_cast<std::byte*>(std::calloc(size, 1));
    if (grown == nullptr)
      fail("out of memory: a checkpoint buffer of {} was refused", readable_size(size));
    if (size_ > 0) std::memcpy(grown, data_.get(), size_);
    data_.reset(grown);
    capacity_ = size;
  } else if (size > size_) {
    std::memset(data_.get() + size_, 0, size - size_);
  }
  size_ = size;
}

FileDescriptor::FileDescriptor(const std::string& path, int flags)
    : path_(path), fd_(open_file(path, flags)) {
  if (fd_ < 0) fail_system(errno, "cannot open {}", path);
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

struct stat FileDescriptor::status() const {
  struct stat status;
  if (::fstat(fd_, &status) != 0) fail_system(errno, "cannot examine {}", path_);
  return status;
}

void FileDescriptor::write_at(std::span<const std::byte> bytes, uint64_t at) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd_, bytes.data(), bytes.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      fail_system(errno, "cannot write {} bytes at byte {} of {}", bytes.size(), at, path_);
    if (count == 0)
      fail("cannot write {} bytes at byte {} of {}: nothing was taken", bytes.size(), at, path_);
    bytes = bytes.subspan(count);
    at += count;
  }
}

size_t FileDescriptor::read_at(std::span<std::byte> bytes, uint64_t at) const {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pread(fd_, bytes.data() + done, bytes.size() - done, at + done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_system(errno, "cannot read {} at byte {}", path_, at + done);
    if (count == 0) break;
    done += count;
  }
  return done;
}

void FileDescriptor::read_all_at(std::span<std::byte> bytes, uint64_t at) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(fd_, bytes.data(), bytes.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      fail("cannot read {}: {}", path_, count < 0 ? std::strerror(errno) : "it ended early");
    bytes = bytes.subspan(count);
    at += count;
  }
}

void FileDescriptor::sync() const {
  if (::fsync(fd_) != 0) fail_system(errno, "cannot make {} durable", path_);
}

void FileDescriptor::close() {
  const int fd = std::exchange(fd_, -1);
  if (fd >= 0 && ::close(fd) != 0) fail_system(errno, "cannot close {}", path_);
}

FileReader::FileReader(const std::string& path) : path_(path), file_(open_to_read(path), path) {
  const struct stat status = file_.status();
  if (!S_ISREG(status.st_mode)) fail_usage("{} is not a regular file", path);
  size_ = status.st_size;
}

void FileReader::read(std::byte* out, int64_t bytes) {
  while (bytes > 0) {
    const ssize_t done = ::read(file_.get(), out, std::min(bytes, kLongestRead));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_system(errno, "cannot read {}", path_);
    if (done == 0) fail_usage("{} ended {} bytes early", path_, bytes);
    out += done;
    bytes -= done;
  }
}

std::string read_text(const std::string& path) {
  FileReader reader(path);
  std::string text(reader.size(), '\0');
  reader.read(reinterpret_cast<std::byte*>(text.data()), reader.size());
  return text;
}

bool is_there(const std::string& path) { return mode_at(path).has_value(); }

bool is_folder(const std::string& path) {
  const auto mode = mode_at(path);
  return mode && S_ISDIR(*mode);
}

std::optional<std::string> text_if_there(const std::string& path) {
  if (!is_there(path)) return {};
  return retried([&] { return read_text(path); });
}

bool write_exclusive(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST) return false;
  if (fd < 0) fail_system(errno, "cannot create {}", path);
  FileDescriptor file(fd, path);
  try {
    write_durably(file, bytes, path);
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
  return true;
}

void write_new_file(const std::string& path, std::string_view bytes) {
  if (!write_exclusive(path, bytes)) fail("cannot create {}: it exists already", path);
}

void replace_file(const std::string& path, std::string_view bytes) {
  put_in_place(path, [&](int fd) { write_all(fd, bytes, path); });
}

std::unique_ptr<FileDescriptor> put_in_place(const std::string& path,
                                             const std::function<void(int fd)>& fill) {
  const std::string target = file_target(path, ExistingFile::replace);
  // Two may do this at a time.
  const std::string fresh = fmt::format("{}.{}.new", target, unique_name());
  const int fd = open_file(fresh, O_RDWR | O_CREAT | O_EXCL | O_APPEND);
  if (fd < 0) fail_system(errno, "cannot create {}", fresh);
  auto file = std::make_unique<FileDescriptor>(fd, path);
  try {
    fill(fd);
    file->sync();
    publish(fresh, target, ExistingFile::replace);
  } catch (...) {
    ::unlink(fresh.c_str());
    throw;
  }
  return file;
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
  if (!write_whole(fd, bytes)) fail_system(errno, "cannot write {}", path);
}

void remove_unfinished(const std::string& path) {
  constexpr std::string_view kEnd = ".new";
  const std::filesystem::path target = file_target(path, ExistingFile::replace);
  const std::string begin = target.filename().string() + ".";
  std::error_code error;
  std::filesystem::directory_iterator entry(target.parent_path(), error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() == begin.size() + kUniqueLength + kEnd.size() && name.starts_with(begin) &&
        name.ends_with(kEnd))
      ::unlink(entry->path().c_str());
  }
}

void sync_directory(const std::string& path) {
  FileDescriptor directory(path, O_RDONLY | O_DIRECTORY);
  // EINVAL: the file system has no such call and needs none.
  if (::fsync(directory.get()) != 0 && errno != EINVAL)
    fail_system(errno, "cannot make directory {} durable", path);
}

void sync_file(const std::string& path) { FileDescriptor(path, O_RDONLY).sync(); }

void sync_parent(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  sync_directory(parent.empty() ? "." : parent.string());
}

void require_no_dangling_link(const std::string& missing) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(missing, ignored)))
    fail("{} is a symbolic link to nothing; mount or make what it leads to, or remove it", missing);
}

namespace {

void require_folder(const std::string& there) {
  require(is_folder(there), "{} exists and is not a directory", there);
}

// The nearest that is there; what is missing below it, the deepest first.
std::string directory_above(const std::string& path, std::vector<std::filesystem::path>& missing) {
  std::error_code error;
  auto current = std::filesystem::absolute(path, error).lexically_normal();
  if (!current.has_filename()) current = current.parent_path();
  for (; current.has_relative_path() && !is_there(current.string());
       current = current.parent_path()) {
    require_no_dangling_link(current.string());
    missing.push_back(current);
  }
  require_folder(current.string());
  return current.string();
}

}  // namespace

std::string existing_directory(const std::string& path) {
  std::vector<std::filesystem::path> missing;
  return directory_above(path, missing);
}

int make_directories(const std::string& path) {
  std::vector<std::filesystem::path> missing;
  directory_above(path, missing);
  for (auto made = missing.rbegin(); made != missing.rend(); ++made) {
    make_new_directory(made->string());
    sync_directory(made->parent_path().string());
  }
  require_folder(path);
  return narrow<int>(missing.size());
}

bool make_new_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) fail_system(errno, "cannot make directory {}", path);
  return false;
}

void rename_path(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    fail_system(errno, "cannot rename {} to {}", from, to);
}

bool remove_tree(const std::string& path) noexcept {
  try {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    return !error;
  } catch (...) {
    return false;
  }
}

int64_t free_space(const std::string& path) {
  struct statvfs status;
  if (::statvfs(path.c_str(), &status) != 0)
    fail_system(errno, "cannot ask for the free space of {}", path);
  return status.f_bavail * status.f_frsize;
}

std::string with_advice(const SystemError& error) {
  return error.given_up() ? error.what()
                          : fmt::format("{}; {}", error.what(), advice_for(error.number()));
}

std::string unique_name() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}", source(), source());
}

std::string join_path(const std::string& directory, const std::string& name) {
  return (std::filesystem::path(directory) / name).string();
}

}  // namespace skein
