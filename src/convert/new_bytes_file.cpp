#include "new_bytes_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include "skein/core/error.h"
#include "skein/core/output_place.h"

namespace skein {

NewBytesFile::NewBytesFile(const std::string& path)
    : path_(file_place(path, Existing::refuse)),
      temporary_(fmt::format("{}.{}.tmp", path_, ::getpid())),
      file_(make_temporary_file(temporary_), temporary_) {
  if (file_.get() < 0) fail("cannot create {}: {}", temporary_, std::strerror(errno));
}

NewBytesFile::~NewBytesFile() {
  if (!finished_) ::unlink(temporary_.c_str());
}

void NewBytesFile::append(std::span<const std::byte> bytes) {
  write_all(file_.get(), bytes, temporary_);
}

void NewBytesFile::finish() {
  if (::fsync(file_.get()) != 0)
    fail("cannot make {} durable: {}", temporary_, std::strerror(errno));
  file_.close();
  publish(temporary_, path_, Existing::refuse);
  finished_ = true;
  const auto parent = std::filesystem::path(path_).parent_path();
  sync_directory(parent.empty() ? "." : parent.string());
}

}  // namespace skein
