#include "skein/data/scores/text_files.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/files/suffix.h"

#include "data/files/json_line.h"

namespace skein::data {
namespace {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

bool by_number(const std::string& column) {
  return !column.empty() &&
         std::ranges::all_of(column, [](char c) { return c >= '0' && c <= '9'; });
}

Texts texts_of(const Json& value, const std::string& called, const std::string& where) {
  if (!value.is_array()) return {text_of(value, called, where)};
  require(!value.empty(), "{}: {} is an empty list; a sample needs at least one text", where,
          called);
  Texts texts;
  for (const Json& item : value) texts.push_back(text_of(item, "a value of " + called, where));
  return texts;
}

std::vector<Texts> read_jsonl(const std::string& path, const TextColumn& column, bool lists) {
  JsonLines lines(path, ExamplesConfig().most_record_bytes);
  std::vector<Texts> samples;
  while (lines.next()) {
    const Json object = lines.object();
    const std::string where = lines.where(), called = fmt::format("\"{}\"", column.name);
    const Json& value = with_origin(
        column.option, [&]() -> const Json& { return value_at(object, column.name, where); });
    samples.push_back(lists ? texts_of(value, called, where)
                            : Texts{text_of(value, called, where)});
  }
  return samples;
}

std::vector<Texts> read_rows(const std::string& path, const TextColumn& column,
                             NamedFormat format) {
  ExamplesConfig config{.files = {path}, .text = column.name, .label = "", .header = column.header};
  if (format == NamedFormat::other) config.format = ExamplesFormat::lines;
  require(
      format != NamedFormat::csv || !by_number(column.name) || column.header != Header::automatic,
      "{}={} is a number, so whether the first row of {} is a header is unknown; say "
      "--data.header=yes or no",
      column.option, column.name, path);
  ExampleReader reader(config);
  std::vector<Texts> samples;
  for (LabelledExample example; reader.next(example);) samples.push_back({example.text});
  return samples;
}

std::vector<Texts> read(const std::string& path, const TextColumn& column, bool lists) {
  const NamedFormat format = format_in_name(path);
  require(!column.name.empty() || !has_columns(path),
          "{} is empty; name the {} of {} that holds the texts", column.option,
          format == NamedFormat::jsonl ? "key" : "column", path);
  std::vector<Texts> samples = format == NamedFormat::jsonl ? read_jsonl(path, column, lists)
                                                            : read_rows(path, column, format);
  require(!samples.empty(), "{} holds no texts; there is nothing to score", input_name(path));
  return samples;
}

}  // namespace

bool has_columns(const std::string& path) { return format_in_name(path) != NamedFormat::other; }

std::vector<std::string> read_texts(const std::string& path, const TextColumn& column) {
  std::vector<std::string> texts;
  for (Texts& sample : read(path, column, false)) texts.push_back(std::move(sample.front()));
  return texts;
}

std::vector<Texts> read_text_lists(const std::string& path, const TextColumn& column) {
  return read(path, column, true);
}

}  // namespace skein::data
