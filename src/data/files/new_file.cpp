#include "new_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include "skein/core/error.h"

namespace skein {
namespace {

constexpr size_t kGathered = 1 << 20;
constexpr size_t kCopied = 4 << 20;

std::string cause() { return std::generic_category().message(errno); }

}  // namespace

Descriptor::Descriptor(std::string path, int flags)
    : path_(std::move(path)), descriptor_(open(path_.c_str(), flags | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail("cannot open {} for writing: {}", path_, cause());
}

Descriptor::~Descriptor() { close(descriptor_); }

void Descriptor::write_at(std::span<const std::byte> bytes, uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      fail("cannot write {} bytes at byte {} of {}: {}", bytes.size(), at, path_, cause());
    if (count == 0)
      fail("cannot write {} bytes at byte {} of {}: nothing was taken", bytes.size(), at, path_);
    bytes = bytes.subspan(static_cast<size_t>(count));
    at += static_cast<uint64_t>(count);
  }
}

size_t Descriptor::read_at(std::span<std::byte> bytes, uint64_t at) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot read {} at byte {}: {}", path_, at + done, cause());
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

void Descriptor::sync() {
  if (fsync(descriptor_) < 0) fail("cannot make {} safe on disk (fsync): {}", path_, cause());
}

RemovedAtEnd::~RemovedAtEnd() { unlink(path_.c_str()); }

Spool::Spool(std::string path) : file_(path, O_RDWR | O_CREAT | O_EXCL), name_(std::move(path)) {
  gathered_.reserve(kGathered);
}

void Spool::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), kGathered - gathered_.size());
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(taken));
    bytes = bytes.subspan(taken);
    if (gathered_.size() == kGathered) flush();
  }
}

void Spool::flush() {
  file_.write_at(gathered_, written_);
  written_ += gathered_.size();
  gathered_.clear();
}

void Spool::copy_to(Descriptor& target, uint64_t at) {
  flush();
  std::vector<std::byte> block(static_cast<size_t>(std::min<uint64_t>(kCopied, written_)));
  for (uint64_t done = 0; done < written_;) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(block.size(), written_ - done));
    const size_t got = file_.read_at(std::span(block).first(wanted), done);
    if (got < wanted) fail("{} lost bytes: {} of {} are left", name_.path(), done + got, written_);
    target.write_at(std::span(block).first(got), at + done);
    done += got;
  }
}

void Spool::publish(const std::string& path, Existing existing) {
  flush();
  file_.sync();
  skein::publish(name_.path(), path, existing);
  sync_directory_of(path);
}

std::string unique_stem(const std::string& path) {
  static std::atomic<int> counter{0};
  std::string stem;
  std::error_code ignored;
  do {
    stem = fmt::format("{}.partial-{}-{}", path, getpid(), counter++);
  } while (std::filesystem::exists(stem + ".tokens", ignored));
  return stem;
}

void sync_directory_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  Descriptor directory(parent.empty() ? "." : parent.string(), O_RDONLY | O_DIRECTORY);
  directory.sync();
}

}  // namespace skein
