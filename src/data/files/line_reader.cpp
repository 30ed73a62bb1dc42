#include "skein/data/files/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace skein::data {
namespace {

constexpr size_t kFirstBuffer = size_t{1} << 18;
constexpr std::string_view kMark = "\xEF\xBB\xBF";

}  // namespace

std::string_view without_break(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

LineReader::LineReader(std::unique_ptr<ByteSource> source, int64_t most_bytes)
    : source_(std::move(source)),
      most_bytes_(std::max<int64_t>(1, most_bytes)),
      buffer_(std::max(kMark.size(), std::min(kFirstBuffer, most_bytes_))) {
  skip_mark();
}

void LineReader::skip_mark() {
  while (!ended_ && end_ < kMark.size()) fill();
  if (!std::string_view(buffer_.data(), end_).starts_with(kMark)) return;
  begin_ = kMark.size();
  next_offset_ = begin_;
}

void LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(std::min(2 * buffer_.size(), most_bytes_ + 1));
  const size_t got = source_->read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += got;
  ended_ = got == 0;
}

bool LineReader::next(std::string_view& line) {
  size_t scanned = 0;
  while (true) {
    const size_t held = std::min(end_ - begin_, most_bytes_);
    const std::string_view text(buffer_.data() + begin_, held);
    if (const size_t found = text.find('\n', scanned); found != text.npos) {
      line = take(found + 1, true);
      return true;
    }
    scanned = held;
    if (ended_ && held == 0) return false;
    if (ended_ || held == most_bytes_) {
      line = take(held, ended_ && held == end_ - begin_);
      return true;
    }
    fill();
  }
}

std::string_view LineReader::take(size_t bytes, bool ends_line) {
  begins_line_ = ends_line_;
  ends_line_ = ends_line;
  if (begins_line_) ++number_;
  offset_ = next_offset_;
  next_offset_ += bytes;
  const std::string_view line(buffer_.data() + begin_, bytes);
  begin_ += bytes;
  return line;
}

}  // namespace skein::data
