// A file of lines that a run adds to, such as its metrics. Each start begins a new file instead of
// the one that is there: a process that it has superseded adds to the old one, which no name leads
// to any more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "skein/checkpoint/claim.h"
#include "skein/core/files/files.h"

namespace skein::checkpoint {

// Every function throws what those of core/files/files.h throw.
class AppendedFile {
 public:
  // The new file holds `kept`. Its name is durable after a sync_directory().
  void begin(const std::string& path, const std::string& kept);
  // It holds the first `kept` bytes of the one that is there.
  void cut(const std::string& path, int64_t kept);

  bool is_open() const { return file_ != nullptr; }
  // After begin or cut, until close. All of it, or an error and nothing.
  void add(const std::string& lines);
  // What was added outlives a loss of power from here on. Where another file has replaced this
  // one, such as that of an older start that stood still just before it replaced its own, all
  // of it is written again, with a warning; not where `claim`, which may be null, is superseded.
  void sync(const RunClaim* claim);
  void close() { file_.reset(); }

 private:
  bool in_place() const;

  std::string path_;
  std::unique_ptr<FileDescriptor> file_;
};

}  // namespace skein::checkpoint
