#include "skein/data/records/examples.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/files/byte_source.h"
#include "skein/data/files/suffix.h"
#include "skein/text/split/utf8.h"

#include "example_source.h"

namespace skein::data {
namespace {

ExamplesFormat format_by_name(const std::string& path, const std::string& option) {
  switch (format_in_name(path)) {
    case NamedFormat::csv: return ExamplesFormat::csv;
    case NamedFormat::tsv: return ExamplesFormat::tsv;
    case NamedFormat::jsonl: return ExamplesFormat::jsonl;
    case NamedFormat::other: break;
  }
  fail_usage("whether {} is CSV, TSV or JSONL cannot be told from its name; {}", input_name(path),
             option.empty() ? "let it end in .csv, .tsv or .jsonl"
                            : fmt::format("give the format ({})", option));
}

std::unique_ptr<ExampleSource> open_examples(const std::string& path,
                                             const ExamplesConfig& config) {
  const bool guess = config.format == ExamplesFormat::automatic;
  const ExamplesFormat format = guess ? format_by_name(path, config.format_option) : config.format;
  if (format == ExamplesFormat::lines) return line_examples(path, config);
  if (format == ExamplesFormat::jsonl) return jsonl_examples(path, config);
  return table_examples(path, format, config);
}

void check_references(const ExamplesConfig& config) {
  std::vector<std::string> taken{config.text, config.pair, config.label};
  for (const std::string& column : config.references) {
    require(!column.empty(), "a column of references has no name");
    require(std::ranges::find(taken, column) == taken.end(),
            "the references are in \"{}\", which holds something else already; they must be other "
            "columns",
            column);
    taken.push_back(column);
  }
  SKEIN_CHECK(config.texts ? !config.numbers && !config.label.empty() : config.references.empty());
}

void check(const ExamplesConfig& config) {
  require(!config.files.empty(), "no file with examples is named");
  require(!config.text.empty(), "no text column is named");
  require(config.format != ExamplesFormat::lines || (config.pair.empty() && config.label.empty()),
          "a text a line has neither a second text nor a label; give CSV, TSV or JSONL");
  require(config.text != config.label,
          "the {} and the label are both \"{}\"; they must be different columns", config.called,
          config.text);
  require(
      config.pair.empty() || (config.pair != config.text && config.pair != config.label),
      "the pair's second text is \"{}\", which is the {} as well; they must be different columns",
      config.pair, config.pair == config.text ? "first text" : "label");
  check_references(config);
  require(config.most_record_bytes > 0, "the longest record is {} bytes; it must be above 0",
          config.most_record_bytes);
}

}  // namespace

bool is_number_of_column(const std::string& column) {
  return !column.empty() && column.find_first_not_of("0123456789") == std::string::npos;
}

void check_label(LabelledExample& example, const ExamplesConfig& config, const std::string& name) {
  const std::string& label = example.label;
  if (config.texts) return;
  require(!label.empty(), "{}:{}: the label is empty", name, example.line);
  example.value = 0;
  require(text::valid_utf8(label), "{}:{}: the label \"{}\" is not valid UTF-8", name, example.line,
          excerpt(label));
  if (!config.numbers) return;
  const auto value = parsed_number<double>(label);
  require(value && std::isfinite(*value),
          "{}:{}: the label \"{}\" is no number like 3, -0.25 or 1e-3", name, example.line,
          excerpt(label));
  example.value = *value;
}

std::string where_of(const LabelledExample& example, const ExamplesConfig& config) {
  return fmt::format("{}:{}", input_name(config.files.at(example.file)), example.line);
}

ExampleReader::ExampleReader(ExamplesConfig config) : config_(std::move(config)) { check(config_); }

ExampleReader::~ExampleReader() = default;

bool ExampleReader::next(LabelledExample& example) {
  while (!source_ || !source_->next(example)) {
    if (source_) finished_ += source_->consumed();
    source_.reset();
    if (opened_ == config_.files.size()) return false;
    source_ = open_examples(config_.files[opened_++], config_);
  }
  example.file = opened_ - 1;
  return true;
}

int64_t ExampleReader::bytes_read() const {
  return finished_ + (source_ ? source_->consumed() : 0);
}

std::vector<LabelledExample> read_examples(const ExamplesConfig& config) {
  std::vector<LabelledExample> examples;
  std::vector<bool> seen(config.files.size());
  ExampleReader reader(config);
  for (LabelledExample example; reader.next(example);) {
    seen[example.file] = true;
    examples.push_back(std::move(example));
  }
  for (size_t i = 0; i < seen.size(); ++i)
    require(seen[i], "{} holds no examples", input_name(config.files[i]));
  return examples;
}

}  // namespace skein::data
