#include "peeked_source.h"

#include <algorithm>
#include <cstring>

namespace skein::data {
namespace {

constexpr size_t kPeekBytes = size_t{64} << 10;
constexpr size_t kHeadBytes = 512;  // of a tar header
constexpr size_t kLineBytes = 8;    // the longest signature of a compression

}  // namespace

std::string_view PeekedSource::peek() {
  if (peeked_) return {ahead_.data(), ahead_.size()};
  peeked_ = true;
  ahead_.resize(kPeekBytes);
  size_t held = 0;
  while (held < kHeadBytes) {
    if (held >= kLineBytes && std::memchr(ahead_.data(), '\n', held) != nullptr) break;
    const size_t got = source_->read(ahead_.data() + held, ahead_.size() - held);
    if (got == 0) break;
    held += got;
  }
  ahead_.resize(held);
  return {ahead_.data(), held};
}

size_t PeekedSource::read(char* bytes, size_t room) {
  const size_t got = std::min(room, ahead_.size() - begin_);
  if (got == 0) return source_->read(bytes, room);
  std::memcpy(bytes, ahead_.data() + begin_, got);
  begin_ += got;
  if (begin_ == ahead_.size()) {
    std::vector<char>().swap(ahead_);
    begin_ = 0;
  }
  return got;
}

int64_t PeekedSource::seek(int64_t offset, int whence) {
  const int64_t at = source_->seek(offset, whence);
  if (at >= 0) {
    ahead_.clear();
    begin_ = 0;
  }
  return at;
}

}  // namespace skein::data
