// A file that grows by runs of bytes and has its name only once it is whole.
#pragma once

#include <span>
#include <string>

#include "skein/core/files/files.h"
#include "skein/core/files/output_target.h"

namespace skein {

class NewFile {
 public:
  // A usage error where a folder or a device stands there, or anything with ExistingFile::refuse.
  NewFile(const std::string& path, ExistingFile existing);
  // Removes an unfinished file.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::span<const std::byte> bytes);
  // From here on the file is there, whole and durable.
  void finish();

 private:
  std::string path_, temporary_;
  ExistingFile existing_;
  FileDescriptor file_;
  bool finished_ = false;
};

}  // namespace skein
