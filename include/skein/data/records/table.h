// Rows of a CSV or TSV file in bounded memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skein/data/files/line_reader.h"

namespace skein::data {

enum class TableKind {
  csv,  // RFC 4180: commas; fields in double quotes may hold commas, line breaks and doubled quotes
  tsv,  // tabs; nothing is quoted
};

struct TableRow {
  std::vector<std::string> fields;
  int64_t line = 0;  // where it begins, from 1
};

class TableReader {
 public:
  // Rows longer than most_bytes are a usage error. path: "-" for stdin.
  TableReader(const std::string& path, TableKind kind, int64_t most_bytes);

  // The next row; false at the end. Lines without any character are passed over. A usage error
  // naming file and line for quotes that CSV does not allow and for what is too long.
  bool next(TableRow& row);
  // The same of a row of names; a usage error with line and column for one that is no UTF-8.
  bool next_names(TableRow& row);
  // Bytes taken from the file so far, before decompression.
  int64_t consumed() const { return lines_.consumed(); }

 private:
  bool next_line();
  std::string field(size_t number);
  std::string plain_field(size_t number);
  std::string quoted_field(size_t number);
  void check_after_quote(size_t number, int64_t begun) const;

  std::string name_;
  TableKind kind_;
  char separator_;
  int64_t most_bytes_;
  LineReader lines_;
  // Of the line under way, what is still to be read, and its break.
  std::string_view rest_, break_;
  int64_t row_bytes_ = 0;
};

}  // namespace skein::data
