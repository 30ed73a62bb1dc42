#include <algorithm>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/records/table.h"

#include "example_source.h"

namespace skein::data {
namespace {

bool has_header(TableKind kind, const ExamplesConfig& config) {
  if (config.header != Header::automatic) return config.header == Header::yes;
  std::vector<std::string> columns{config.text, config.pair, config.label};
  columns.insert(columns.end(), config.references.begin(), config.references.end());
  for (const std::string& column : columns)
    if (!column.empty() && !is_number_of_column(column)) return true;
  require(kind == TableKind::tsv,
          "the columns of a CSV file are given by number alone, so whether its first row is a "
          "header is unknown; say header yes or no ({})",
          config.header_option);
  return false;
}

class TableExamples final : public ExampleSource {
 public:
  TableExamples(const std::string& path, TableKind kind, const ExamplesConfig& config)
      : name_(input_name(path)),
        config_(config),
        table_(path, kind, config.most_record_bytes),
        header_(has_header(kind, config)) {
    waiting_ = header_ ? table_.next_names(row_) : table_.next(row_);
    require(waiting_ || !header_, "{} is empty; its first row must name the columns", name_);
    if (waiting_) find_columns();
    if (header_) waiting_ = false;
  }

  bool next(LabelledExample& example) override {
    if (!std::exchange(waiting_, false) && !table_.next(row_)) return false;
    check_width();
    example.line = row_.line;
    example.text = std::move(row_.fields[text_]);
    example.pair = config_.pair.empty() ? "" : std::move(row_.fields[pair_]);
    example.label = config_.label.empty() ? "" : std::move(row_.fields[label_]);
    example.references.clear();
    for (const size_t column : references_)
      example.references.push_back(std::move(row_.fields[column]));
    if (!config_.label.empty()) check_label(example, config_, name_);
    return true;
  }
  int64_t consumed() const override { return table_.consumed(); }

 private:
  void find_columns() {
    first_ = row_.fields;
    first_line_ = row_.line;
    text_ = find(config_.called, config_.text);
    if (!config_.pair.empty()) pair_ = find("pair", config_.pair);
    if (!config_.label.empty()) label_ = find("label", config_.label);
    const bool apart =
        (config_.label.empty() || label_ != text_) &&
        (config_.pair.empty() || (pair_ != text_ && (config_.label.empty() || pair_ != label_)));
    require(apart, "{}: two of {} \"{}\", pair \"{}\" and label \"{}\" are the same column", name_,
            config_.called, config_.text, config_.pair, config_.label);
    for (const std::string& column : config_.references) {
      const size_t found = find("reference", column);
      const bool taken = found == text_ || found == label_ ||
                         (!config_.pair.empty() && found == pair_) ||
                         std::ranges::find(references_, found) != references_.end();
      require(!taken, "{}: the reference \"{}\" is a column that is used already", name_, column);
      references_.push_back(found);
    }
  }

  size_t find(const std::string& role, const std::string& column) const {
    if (is_number_of_column(column)) return by_number(role, column);
    require(header_, "the {} column is \"{}\", but {} has no header; give its number, from 1", role,
            column, name_);
    const auto count = std::count(first_.begin(), first_.end(), column);
    require(count > 0, "{}:{}: no column \"{}\" for the {}; the header has {}{}", name_,
            first_line_, column, role, listed(first_), did_you_mean(column, first_));
    require(count == 1,
            "{}:{}: {} columns are called \"{}\"; give the number of the one with the {}", name_,
            first_line_, count, column, role);
    return std::find(first_.begin(), first_.end(), column) - first_.begin();
  }

  size_t by_number(const std::string& role, const std::string& column) const {
    const size_t number = parsed_number<size_t>(column).value_or(0);
    require(number >= 1 && number <= first_.size(),
            "{}:{}: the {} column is number {}, but the first row has {} columns, from 1: {}",
            name_, first_line_, role, excerpt(column), first_.size(), listed(first_));
    return number - 1;
  }

  void check_width() const {
    require(row_.fields.size() == first_.size(),
            "{}:{}: the row has {} fields, but the {} on line {} has {}: {}", name_, row_.line,
            row_.fields.size(), header_ ? "header" : "first row", first_line_, first_.size(),
            listed(first_));
  }

  std::string name_;
  ExamplesConfig config_;
  TableReader table_;
  bool header_;
  bool waiting_ = false;  // row_ is still to be handed out
  TableRow row_;
  std::vector<std::string> first_;
  int64_t first_line_ = 0;
  size_t text_ = 0, pair_ = 0, label_ = 0;
  std::vector<size_t> references_;
};

}  // namespace

std::unique_ptr<ExampleSource> table_examples(const std::string& path, ExamplesFormat format,
                                              const ExamplesConfig& config) {
  const TableKind kind = format == ExamplesFormat::csv ? TableKind::csv : TableKind::tsv;
  return std::make_unique<TableExamples>(path, kind, config);
}

}  // namespace skein::data
