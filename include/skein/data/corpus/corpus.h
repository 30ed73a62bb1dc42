// Reads documents out of text and JSONL files in bounded memory.
//
//   CorpusReader reader({"books/", "web.jsonl.zst"}, options);
//   for (CorpusPiece piece; reader.next(piece);) use(piece.text);
//
// JSONL: one object a line, its `field` is the document. Plain text: one document a file, or
// several divided by separator lines or runs of blank lines. CRLF, a byte-order mark, blank lines
// and a missing last line break are tolerated; documents without any text are skipped. gzip, xz,
// zstd, bzip2 and lz4 are read through; tar and zip archives are read like folders, each member by
// what its own name says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skein/core/files/output_target.h"
#include "skein/text/sentences.h"

namespace skein::data {

enum class CorpusFormat { automatic, text, jsonl };

struct CorpusOptions {
  // by suffix: .jsonl, .ndjson and .json are JSONL, the rest text
  CorpusFormat format = CorpusFormat::automatic;
  std::string field = "text";      // JSONL: the key of the document
  std::string document_separator;  // text: a line of just this divides documents; "" for none
  int64_t blank_lines = 0;         // text: so many blank lines divide documents; 0 for never
  int64_t max_bad_lines = 0;       // JSONL: lines that may be skipped because of errors
  int64_t piece_bytes = int64_t{4} << 20;        // longer documents come in pieces
  int64_t most_line_bytes = int64_t{256} << 20;  // JSONL: the longest line that is read
  // Text: the first line that begins at or after this byte begins another document. -1 for never.
  int64_t divide_at = -1;
  // How a document is divided into sentences: other than `none`, pieces end where sentences do, if
  // there is an end in the last 64 KiB before piece_bytes.
  text::SentenceRule sentences = text::SentenceRule::none;
};

struct CorpusPiece {
  std::string text;
  int64_t document = 0;    // number of the document in the whole corpus, from 0
  bool begins = true;      // it is the first piece of its document
  bool continues = false;  // the next piece goes on with the same document
};

// The files that inputs name, in order: files, "-" for stdin, and directories, which stand for all
// files below them sorted by path; names that begin with a dot and links to folders are left out. A
// usage error for what does not exist or names nothing.
std::vector<std::string> expand_inputs(const std::vector<std::string>& inputs);

// Bytes of files, -1 where one of them is no regular file, such as "-" for stdin.
int64_t stored_bytes(const std::vector<std::string>& files);

// Whether a file is a single text, rather than an archive. Usage errors as open_source.
bool holds_one_text(const std::string& path);

// A usage error naming `option` when `output` cannot be written without harm: it is one of the
// files that are taken already, or a directory, or in a directory that does not exist, or something
// stands there that no file may replace; with ExistingFile::refuse also when a file
// stands there. streams: pipes and devices can be written as well.
void check_output(const std::string& option, const std::string& output,
                  const std::vector<std::string>& taken,
                  ExistingFile existing = ExistingFile::refuse, bool streams = false);

// What `automatic` comes to for a path.
CorpusFormat format_of(const std::string& path, CorpusFormat wanted);

class CorpusReader {
 public:
  // A usage error for options that contradict each other and as in expand_inputs.
  CorpusReader(const std::vector<std::string>& inputs, CorpusOptions options);
  ~CorpusReader();

  // The next piece; false at the end. Pieces are cut where split_gpt2 gives the same words for them
  // as for the whole document, as long as there is white space to cut at. A usage error with file
  // and line or byte for damaged input, for JSONL once there are more than max_bad_lines of it, and
  // for a named file that is no text. What is none in folders and archives is left out; one line at
  // the end logs what was.
  bool next(CorpusPiece& piece);

  const std::vector<std::string>& files() const;
  // Bytes read from the inputs, before decompression.
  int64_t bytes_read() const;
  // Bytes of all inputs, -1 if that cannot be known.
  int64_t bytes_total() const;
  int64_t bad_lines() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace skein::data
