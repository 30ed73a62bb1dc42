#include "skein/data/records/table.h"

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/text/split/utf8.h"

namespace skein::data {
namespace {

constexpr size_t kMostFields = 10000;

}  // namespace

TableReader::TableReader(const std::string& path, TableKind kind, int64_t most_bytes)
    : name_(input_name(path)),
      kind_(kind),
      separator_(kind == TableKind::csv ? ',' : '\t'),
      most_bytes_(most_bytes),
      lines_(open_source(path), most_bytes) {}

bool TableReader::next_line() {
  std::string_view line;
  if (!lines_.next(line)) return false;
  row_bytes_ += std::ssize(line);
  require(lines_.ends_line() && row_bytes_ <= most_bytes_,
          "{}:{}: a row is longer than {} bytes; is this a {} file, and is every quote closed?",
          name_, lines_.number(), most_bytes_, kind_ == TableKind::csv ? "CSV" : "TSV");
  rest_ = without_break(line);
  break_ = line.substr(rest_.size());
  return true;
}

bool TableReader::next(TableRow& row) {
  do {
    row_bytes_ = 0;
    if (!next_line()) return false;
  } while (rest_.empty());
  row.line = lines_.number();
  row.fields.clear();
  while (true) {
    row.fields.push_back(field(row.fields.size() + 1));
    if (rest_.empty()) return true;
    require(row.fields.size() < kMostFields,
            "{}:{}: the row has more than {} fields; is this a table?", name_, row.line,
            kMostFields);
    rest_.remove_prefix(1);
  }
}

bool TableReader::next_names(TableRow& row) {
  if (!next(row)) return false;
  for (size_t i = 0; i < row.fields.size(); ++i) {
    const size_t good = text::valid_bytes(row.fields[i]);
    require(good == row.fields[i].size(),
            "{}:{}: the name of column {}, which begins \"{}\", is not valid UTF-8; save the file "
            "as UTF-8",
            name_, row.line, i + 1, excerpt(std::string_view(row.fields[i]).substr(0, good)));
  }
  return true;
}

// Leaves rest_ at the separator or at the end of the line.
std::string TableReader::field(size_t number) {
  return kind_ == TableKind::csv && rest_.starts_with('"') ? quoted_field(number)
                                                           : plain_field(number);
}

std::string TableReader::plain_field(size_t number) {
  const std::string text(rest_.substr(0, rest_.find(separator_)));
  require(kind_ == TableKind::tsv || text.find('"') == std::string::npos,
          "{}:{}: field {} holds a quote but does not begin with one: {}; CSV wants the whole "
          "field in quotes and those within it doubled",
          name_, lines_.number(), number, excerpt(text));
  rest_.remove_prefix(text.size());
  return text;
}

std::string TableReader::quoted_field(size_t number) {
  const int64_t begun = lines_.number();
  std::string text;
  rest_.remove_prefix(1);
  while (true) {
    const size_t quote = rest_.find('"');
    text += rest_.substr(0, quote);
    if (quote == std::string_view::npos) {
      text += break_;
      require(next_line(), "{}:{}: the quote that opens field {} is never closed", name_, begun,
              number);
      continue;
    }
    rest_.remove_prefix(quote + 1);
    if (!rest_.starts_with('"')) break;
    text += '"';
    rest_.remove_prefix(1);
  }
  check_after_quote(number, begun);
  return text;
}

void TableReader::check_after_quote(size_t number, int64_t begun) const {
  require(rest_.empty() || rest_.starts_with(separator_),
          "{}:{}: after the closing quote of field {}, opened on line {}, a comma or the end of "
          "the line must follow, not \"{}\"; quotes within a field are doubled",
          name_, lines_.number(), number, begun, excerpt(rest_));
}

}  // namespace skein::data
