// The bytes of a file or of stdin as they are.
#pragma once

#include <memory>
#include <string>

#include "skein/data/files/byte_source.h"

namespace skein::data {

class FileSource final : public ByteSource {
 public:
  // path: "-" for stdin. `name` is what errors call it; `taken` holds consumed(), also when this is
  // gone. A usage error where there is none, Error(failure) where the system refuses it.
  FileSource(const std::string& path, std::string name, std::shared_ptr<int64_t> taken);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  size_t read(char* bytes, size_t room) override;
  int64_t consumed() const override { return *taken_; }
  bool plain() const override { return true; }
  int64_t seek(int64_t offset, int whence) override;

 private:
  std::string name_;
  std::shared_ptr<int64_t> taken_;
  int descriptor_ = -1;
  bool seekable_ = false;
};

}  // namespace skein::data
