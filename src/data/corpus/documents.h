// The documents of one input, piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "skein/data/corpus/corpus.h"
#include "skein/data/files/byte_source.h"

namespace skein::data {

class Documents {
 public:
  virtual ~Documents() = default;
  // Sets text and continues.
  virtual bool next(CorpusPiece& piece) = 0;
};

// Bad lines of the whole corpus against their limit.
class BadLines {
 public:
  explicit BadLines(int64_t limit) : limit_(limit) {}
  // Warns of the first ten, the count is for a summary; a usage error beyond the limit.
  void add(const std::string& file, int64_t line, const std::string& reason);
  int64_t count() const { return count_; }

 private:
  int64_t limit_;
  int64_t count_ = 0;
};

// guessed: nobody said that this is text, so what looks like JSONL is refused; for stdin.
std::unique_ptr<Documents> text_documents(std::unique_ptr<ByteSource> source,
                                          const CorpusOptions& options, bool guessed);
// `name` is the source's name in errors.
std::unique_ptr<Documents> jsonl_documents(std::unique_ptr<ByteSource> source,
                                           const std::string& name, const CorpusOptions& options,
                                           BadLines& bad);

// Where to cut a document that is longer than options.piece_bytes: above 0 and within the first
// piece_bytes.
size_t piece_cut(std::string_view text, const CorpusOptions& options);

}  // namespace skein::data
