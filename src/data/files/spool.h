// Files under construction: appended to in order, never left behind, every failing call an
// Error(failure) with the path and the cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skein/core/files/files.h"
#include "skein/core/files/output_target.h"

struct XXH3_state_s;

namespace skein::data {

// Removes a path when it goes out of scope, if there is still something under it.
class RemovedAtEnd {
 public:
  explicit RemovedAtEnd(std::string path) : path_(std::move(path)) {}
  ~RemovedAtEnd();
  RemovedAtEnd(const RemovedAtEnd&) = delete;
  RemovedAtEnd& operator=(const RemovedAtEnd&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A temporary file that must not exist yet; bytes are gathered into large writes.
class Spool {
 public:
  explicit Spool(std::string path);

  void append(std::span<const std::byte> bytes);
  uint64_t size() const { return written_ + gathered_.size(); }
  // Everything appended so far, into `target` from byte `at` on.
  void copy_to(const FileDescriptor& target, uint64_t at);
  // Synced and under its final name, a path of file_target. Nothing more can be appended.
  void publish(const std::string& path, ExistingFile existing);

 private:
  void flush();

  // In this order: a name is only ours to remove once the file was made.
  FileDescriptor file_;
  RemovedAtEnd name_;
  uint64_t written_ = 0;
  std::vector<std::byte> gathered_;
};

// A spool that sums what it takes: XXH3-64, seed 0.
class SummedSpool {
 public:
  explicit SummedSpool(std::string path);

  void append(std::span<const std::byte> bytes);
  uint64_t size() const { return spool_.size(); }
  uint64_t sum() const;
  void copy_to(const FileDescriptor& target, uint64_t at) { spool_.copy_to(target, at); }

 private:
  Spool spool_;
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> state_;
};

// Begins with `path`; no file of a name that begins with it was made by another writer in this or
// another process. first: what each writer makes first, behind the stem.
std::string unique_stem(const std::string& path, const std::string& first = ".tokens");

// Error(failure) where the disk of `path` has no room for an HDF5 file with `needed` bytes of
// values and texts. To be asked before the first byte: HDF5 does not survive a disk that fills up
// under it.
void check_free_space(const std::string& path, uint64_t needed);

}  // namespace skein::data
