// Examples of a task on texts, one text or a pair with a label or a number, out of CSV, TSV and
// JSONL files.
//
//   ExamplesConfig config{.files = {"train.csv"}, .text = "text", .label = "category"};
//   const std::vector<LabelledExample> examples = read_examples(config);
//
// CSV: RFC 4180 in its strict form: fields in double quotes may hold commas, line breaks and
// doubled quotes; a field with a quote must be quoted. TSV: fields between tabs, nothing quoted.
// JSONL: one object a line. CRLF, a byte-order mark and a missing last line break are tolerated,
// empty lines passed over. Lines: each is a text without a label, empty ones too. Bytes that are no
// UTF-8 are kept in texts of CSV, TSV and lines, and an error in labels and in JSONL. gzip, xz and
// zstd are read through.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace skein::data {

enum class ExamplesFormat { automatic, csv, tsv, jsonl, lines };
enum class Header { automatic, yes, no };

struct ExamplesConfig {
  std::vector<std::string> files{};  // "-" for stdin
  // automatic, by suffix: .csv; .tsv and .tab; .jsonl, .ndjson and .json; also before .gz, .xz,
  // .zst, .bz2 and .lz4.
  ExamplesFormat format = ExamplesFormat::automatic;
  // Columns by name, or by number from 1 (digits are a number). JSONL: keys.
  std::string text = "text";
  std::string pair{};           // of the second text; "" for single texts
  std::string label = "label";  // "" for examples without labels
  bool numbers = false;         // labels are numbers, as for regression
  // labels are texts, to be written by a model: they may be empty, hold bytes that are no UTF-8,
  // and in JSONL be a list of them, of which the first is the label and the others are references
  bool texts = false;
  std::vector<std::string> references{};  // columns of further labels, where they are texts
  // Whether the first row of a table names its columns. automatic: yes when any column above is
  // given by name; by numbers alone, no for TSV, and a usage error for CSV, where it cannot be
  // known.
  Header header = Header::automatic;
  int64_t most_record_bytes = int64_t{16} << 20;  // the longest row or line that is read
  // For messages: the options that say format ("": none does) and header, and what the texts are.
  std::string format_option = "task.format", header_option = "task.header", called = "text";
};

struct LabelledExample {
  std::string text{}, pair{};
  std::string label{};                    // as it was written; JSONL: also integers, true and false
  double value = 0;                       // the label where labels are numbers, finite
  std::vector<std::string> references{};  // further labels, where they are texts
  int64_t file = 0;                       // index into ExamplesConfig::files
  int64_t line = 0;                       // where it begins, from 1
};

// "train.csv:12", for messages about an example.
std::string where_of(const LabelledExample& example, const ExamplesConfig& config);

class ExampleSource;

// One file after the other in bounded memory.
class ExampleReader {
 public:
  // A usage error for a configuration that contradicts itself.
  explicit ExampleReader(ExamplesConfig config);
  ~ExampleReader();

  // The next example; false at the end. A usage error naming file and line for: a row that has not
  // as many fields as the first, a missing column or key (with those there are and the nearest), an
  // empty label, a label that is no number where numbers are wanted, a record that is too long, and
  // what the format does not allow.
  bool next(LabelledExample& example);
  // Bytes read from the files so far, before decompression.
  int64_t bytes_read() const;

 private:
  ExamplesConfig config_;
  std::unique_ptr<ExampleSource> source_;
  size_t opened_ = 0;
  int64_t finished_ = 0;  // bytes of the sources that have ended
};

// All examples in order. A usage error as ExampleReader, and for a file without any.
std::vector<LabelledExample> read_examples(const ExamplesConfig& config);

}  // namespace skein::data
