#include "skein/core/files/new_file.h"

#include <cerrno>
#include <unistd.h>

namespace skein {
namespace {

int made_file(const std::string& path) {
  const int fd = make_temporary_file(path);
  if (fd < 0) fail_system(errno, "cannot create {}", path);
  return fd;
}

}  // namespace

NewFile::NewFile(const std::string& path, ExistingFile existing)
    : path_(file_target(path, existing)),
      temporary_(fmt::format("{}.{}.tmp", path_, ::getpid())),
      existing_(existing),
      file_(made_file(temporary_), temporary_) {}

NewFile::~NewFile() {
  if (!finished_) ::unlink(temporary_.c_str());
}

void NewFile::append(std::span<const std::byte> bytes) {
  write_all(file_.get(), as_text(bytes), temporary_);
}

void NewFile::finish() {
  file_.sync();
  file_.close();
  publish(temporary_, path_, existing_);
  finished_ = true;
  sync_parent(path_);
}

}  // namespace skein
