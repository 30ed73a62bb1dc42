// A file that grows by runs of bytes and has its name only once it is whole.
#pragma once

#include <span>
#include <string>

#include "skein/core/files.h"

namespace skein {

class NewBytesFile {
 public:
  // A usage error where something stands there already.
  explicit NewBytesFile(const std::string& path);
  // Removes an unfinished file.
  ~NewBytesFile();
  NewBytesFile(const NewBytesFile&) = delete;
  NewBytesFile& operator=(const NewBytesFile&) = delete;

  void append(std::span<const std::byte> bytes);
  // From here on the file is there, whole and durable.
  void finish();

 private:
  std::string path_, temporary_;
  FileDescriptor file_;
  bool finished_ = false;
};

}  // namespace skein
