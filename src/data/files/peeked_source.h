// A source whose first bytes can be looked at before they are read.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "skein/data/files/byte_source.h"

namespace skein::data {

class PeekedSource final : public ByteSource {
 public:
  explicit PeekedSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // Before anything is read: what one read of 64 KiB gives, at least 512 bytes, a line of 8 or all
  // there is. It does not wait for more, so that a text that is typed is seen line by line.
  std::string_view peek();

  size_t read(char* bytes, size_t room) override;
  int64_t consumed() const override { return source_->consumed(); }
  bool plain() const override { return source_->plain(); }
  // Forgets what was looked at.
  int64_t seek(int64_t offset, int whence) override;

 private:
  std::unique_ptr<ByteSource> source_;
  std::vector<char> ahead_;
  size_t begin_ = 0;
  bool peeked_ = false;
};

}  // namespace skein::data
