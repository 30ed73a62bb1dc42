#include "spool.h"

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#include "skein/core/error.h"

namespace skein::data {
namespace {

constexpr size_t kGathered = 1 << 20;
constexpr size_t kCopied = 4 << 20;
constexpr uint64_t kMetadata = 1 << 20;  // of an HDF5 file, texts apart

}  // namespace

RemovedAtEnd::~RemovedAtEnd() { unlink(path_.c_str()); }

Spool::Spool(std::string path) : file_(path, O_RDWR | O_CREAT | O_EXCL), name_(std::move(path)) {
  gathered_.reserve(kGathered);
}

void Spool::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), kGathered - gathered_.size());
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.begin() + taken);
    bytes = bytes.subspan(taken);
    if (gathered_.size() == kGathered) flush();
  }
}

void Spool::flush() {
  file_.write_at(gathered_, written_);
  written_ += gathered_.size();
  gathered_.clear();
}

void Spool::copy_to(const FileDescriptor& target, uint64_t at) {
  flush();
  std::vector<std::byte> block(std::min<uint64_t>(kCopied, written_));
  for (uint64_t done = 0; done < written_;) {
    const size_t wanted = std::min<uint64_t>(block.size(), written_ - done);
    const size_t got = file_.read_at(std::span(block).first(wanted), done);
    if (got < wanted) fail("{} lost bytes: {} of {} are left", name_.path(), done + got, written_);
    target.write_at(std::span(block).first(got), at + done);
    done += got;
  }
}

void Spool::publish(const std::string& path, ExistingFile existing) {
  flush();
  file_.sync();
  skein::publish(name_.path(), path, existing);
  sync_parent(path);
}

SummedSpool::SummedSpool(std::string path)
    : spool_(std::move(path)),
      state_(XXH3_createState(), [](XXH3_state_t* state) { XXH3_freeState(state); }) {
  if (!state_) fail("out of memory for the state of a checksum");
  XXH3_64bits_reset(state_.get());
}

void SummedSpool::append(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  spool_.append(bytes);
}

uint64_t SummedSpool::sum() const { return XXH3_64bits_digest(state_.get()); }

std::string unique_stem(const std::string& path, const std::string& first) {
  static std::atomic<int> counter{0};
  std::string stem;
  std::error_code ignored;
  do {
    stem = fmt::format("{}.partial-{}-{}", path, getpid(), counter++);
  } while (std::filesystem::exists(stem + first, ignored));
  return stem;
}

void check_free_space(const std::string& path, uint64_t needed) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  struct statvfs room {};
  if (statvfs(parent.empty() ? "." : parent.c_str(), &room) != 0) return;
  const uint64_t free_bytes = uint64_t{room.f_bavail} * room.f_frsize, wanted = needed + kMetadata;
  if (free_bytes < wanted)
    fail(
        "cannot write {}: it needs {} bytes but the disk has {} left; free some space or write "
        "elsewhere",
        path, wanted, free_bytes);
}

}  // namespace skein::data
