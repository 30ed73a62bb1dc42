#include "skein/checkpoint/appended_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein::checkpoint {
namespace {

void copy_bytes(int from, int64_t bytes, int to, const std::string& path) {
  std::string piece(std::min(bytes, int64_t{1} << 20), '\0');
  for (int64_t done = 0; done < bytes;) {
    const size_t wanted = std::min(std::ssize(piece), bytes - done);
    const ssize_t got = ::pread(from, piece.data(), wanted, done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_system(errno, "cannot read {}", path);
    if (got == 0)
      throw SystemError(EIO, fmt::format("{} ends at byte {} of {}", path, done, bytes));
    write_all(to, std::string_view(piece).substr(0, got), path);
    done += got;
  }
}

}  // namespace

void AppendedFile::begin(const std::string& path, const std::string& kept) {
  path_ = path;
  file_ = put_in_place(path_, [&](int fd) { write_all(fd, kept, path_); });
}

void AppendedFile::cut(const std::string& path, int64_t kept) {
  path_ = path;
  const FileDescriptor before(path_, O_RDONLY);
  file_ = put_in_place(path_, [&](int fd) { copy_bytes(before.get(), kept, fd, path_); });
}

void AppendedFile::add(const std::string& lines) {
  const off_t before = file_->status().st_size;
  try {
    write_all(file_->get(), lines, path_);
  } catch (const SystemError&) {
    if (::ftruncate(file_->get(), before) == 0) ::lseek(file_->get(), before, SEEK_SET);
    throw;
  }
}

bool AppendedFile::in_place() const {
  const struct stat own = file_->status();
  struct stat there {};
  if (::stat(path_.c_str(), &there) == 0)
    return there.st_dev == own.st_dev && there.st_ino == own.st_ino;
  if (!names_nothing(errno)) fail_system(errno, "cannot look at {}", path_);
  return false;
}

void AppendedFile::sync(const RunClaim* claim) {
  if (in_place() || (claim && claim->superseded())) return file_->sync();
  log::warn("{} was removed, or replaced by another process; all of its lines are written again",
            path_);
  file_ = put_in_place(
      path_, [this](int fd) { copy_bytes(file_->get(), file_->status().st_size, fd, path_); });
  sync_parent(path_);
}

}  // namespace skein::checkpoint
