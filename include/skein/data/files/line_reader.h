// Lines of a source in bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "skein/data/files/byte_source.h"

namespace skein::data {

// A line without its line break, LF or CRLF.
std::string_view without_break(std::string_view line);
// Whether a line holds nothing but white space.
bool blank(std::string_view line);

class LineReader {
 public:
  // Lines longer than most_bytes come in parts.
  LineReader(std::unique_ptr<ByteSource> source, int64_t most_bytes);

  // The next line with its line break, valid until the next call; false at the end. A byte-order
  // mark at the beginning of the source is dropped.
  bool next(std::string_view& line);

  // Of the line handed out last: its number from 1, the byte of the decompressed source it begins
  // at, whether it begins a line, and whether it ends one (with a line break or the source).
  int64_t number() const { return number_; }
  int64_t offset() const { return offset_; }
  bool begins_line() const { return begins_line_; }
  bool ends_line() const { return ends_line_; }
  // Bytes taken from the source's input so far, before decompression.
  int64_t consumed() const { return source_->consumed(); }

 private:
  void fill();
  void skip_mark();
  std::string_view take(size_t bytes, bool ends_line);

  std::unique_ptr<ByteSource> source_;
  size_t most_bytes_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  bool ended_ = false;
  int64_t number_ = 0;
  int64_t offset_ = 0, next_offset_ = 0;
  bool begins_line_ = true, ends_line_ = true;
};

}  // namespace skein::data
