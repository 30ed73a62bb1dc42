#include "skein/core/files/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein {
namespace {

// O_NONBLOCK: opening a pipe that nobody writes must not hang; it changes nothing for a regular
// file.
constexpr int kToRead = O_RDONLY | O_NONBLOCK;

}  // namespace

MappedFile::MappedFile(const std::string& path) : MappedFile(FileDescriptor(path, kToRead), path) {}

MappedFile::MappedFile(const FileDescriptor& file, const std::string& path) {
  const struct stat status = file.status();
  if (!S_ISREG(status.st_mode)) fail_usage("{} is not a regular file", path);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  bytes_ = static_cast<uint64_t>(status.st_size);
  data_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data_ == MAP_FAILED) fail_system(errno, "cannot map {} ({} bytes)", path, bytes_);
}

MappedFile::~MappedFile() { ::munmap(data_, bytes_); }

std::string_view MappedFile::head(size_t most) const {
  return {static_cast<const char*>(data_), std::min<size_t>(most, bytes_)};
}

// The map keeps the number of its file from being given to another one.
std::unique_ptr<const FileDescriptor> MappedFile::open_again(const std::string& path) const {
  const int opened = ::open(path.c_str(), kToRead | O_CLOEXEC);
  if (opened < 0) fail_system(errno, "cannot open {} again to read it", path);
  auto file = std::make_unique<const FileDescriptor>(opened, path);
  const struct stat status = file->status();
  if (status.st_dev != device_ || status.st_ino != inode_)
    fail("{} cannot be read again: another file took its place after it was opened; start again",
         path);
  return file;
}

void MappedFile::let_go(const std::byte* from, int64_t bytes) const {
  const int64_t page = ::sysconf(_SC_PAGESIZE), begin = from - at(0);
  const int64_t first = rounded_up(begin, page), last = (begin + bytes) / page * page;
  if (first < last)
    ::madvise(static_cast<std::byte*>(data_) + first, static_cast<size_t>(last - first),
              MADV_DONTNEED);
}

}  // namespace skein
