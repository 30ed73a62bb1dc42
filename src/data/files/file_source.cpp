#include "file_source.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "skein/core/error.h"

namespace skein::data {

FileSource::FileSource(const std::string& path, std::string name, std::shared_ptr<int64_t> taken)
    : name_(std::move(name)), taken_(std::move(taken)) {
  descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail_to_open(errno, "cannot read {}", path);
  struct stat status {};
  // Of stdin a part may have been read by another program.
  seekable_ = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) &&
              ::lseek(descriptor_, 0, SEEK_CUR) == 0;
}

FileSource::~FileSource() {
  if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
}

size_t FileSource::read(char* bytes, size_t room) {
  while (true) {
    const ssize_t got = ::read(descriptor_, bytes, room);
    if (got >= 0) *taken_ += got;
    if (got >= 0) return got;
    if (errno == EINTR) continue;
    require(errno != EISDIR, "cannot read {}: it is a directory", name_);
    fail("cannot read {} after {} bytes: {}", name_, *taken_, std::strerror(errno));
  }
}

int64_t FileSource::seek(int64_t offset, int whence) {
  const off_t at = seekable_ ? ::lseek(descriptor_, offset, whence) : -1;
  if (at >= 0) *taken_ = at;
  return at;
}

}  // namespace skein::data
