// Pairs of texts: a source, and the target that is to be made of it, such as its translation, its
// summary or the answer to it.
//
//   PairReader reader({.files = {"train.tsv"}, .text = "en", .label = "de"});
//   for (TextPair pair; reader.next(pair);) use(pair);
//
// From CSV, TSV and JSONL as examples.h reads them, a pair a record; or from two files of lines
// side by side, as corpora of translations come. gzip, xz, zstd, bzip2 and lz4 are read through.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/records/examples.h"

namespace skein::data {

struct PairsConfig {
  std::vector<std::string> files{};  // "-" for stdin
  // Files of lines: files[k] has the sources, a text a line, and targets[k] their targets. Empty:
  // each record of `files` has both.
  std::vector<std::string> targets{};
  // Columns by name, or by number from 1; JSONL: keys. A target, and each of the references, may be
  // a list of texts in JSONL: the first target is learnt, the others are references as well.
  std::string text = "text", label = "label";
  std::vector<std::string> references{};
  ExamplesFormat format = ExamplesFormat::automatic;
  Header header = Header::automatic;
  std::string prefix{};  // put before each source, such as "translate English to German: "
  // so many pairs that cannot be used are left out and told of, before one is an error
  int64_t bad_records = 0;
  int64_t most_record_bytes = int64_t{16} << 20;
};
// Binds columns, references, format, header and prefix under section "task", and data.bad_records.
void bind(Options& options, PairsConfig& config);
// Parts of that, for who binds task.text, task.label, task.format and task.header to what also
// reads other records.
void bind_beside_columns(Options& options, PairsConfig& config);
void bind_bad_records(Options& options, PairsConfig& config);

struct TextPair {
  std::string source{}, target{};         // the source without prefix
  std::vector<std::string> references{};  // other targets that are as good, for evaluation
  int64_t file = 0, line = 0;             // index into PairsConfig::files, and line from 1
};

// "train.tsv:12", for messages about a pair.
std::string where_of(const TextPair& pair, const PairsConfig& config);
// A usage error, with its place, for a pair of which a side is empty or white space alone.
void check_sides(const TextPair& pair, const PairsConfig& config);

// One file after the other in bounded memory.
class PairReader {
 public:
  // A usage error for a configuration that contradicts itself, such as one column for both sides,
  // and for not as many files of targets as of sources.
  explicit PairReader(PairsConfig config);
  ~PairReader();

  // The next pair as it stands, empty sides too; false at the end. A usage error naming file and
  // line as ExampleReader::next, and for two files of which one has more lines, with both numbers.
  bool next(TextPair& pair);
  // Bytes read from all files so far, before decompression.
  int64_t bytes_read() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// All pairs in order but for those that are left out, which the log tells of. A usage error as
// PairReader, for a pair that check_sides refuses beyond config.bad_records, and for files without
// any pair that can be used.
std::vector<TextPair> read_pairs(const PairsConfig& config);

}  // namespace skein::data
