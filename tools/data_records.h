// skein-data on stores of records: what one holds.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/data/columns/records.h"
#include "skein/data/images/image_store.h"
#include "skein/text/tokenizer.h"

#include "data_graphs.h"
#include "data_images.h"
#include "data_stories.h"

namespace skein {

struct RecordShow {
  bool verify = false;
  std::string sheet;  // PNG file for a sheet of the pictures; "": none
  data::AugmentConfig augment;
  // what a tokenizer is called
  std::function<std::string(const text::StoredTokenizer&)> kind;
};

// "u16", "f32".
inline std::string name_of_type(const data::Hdf5Type& type) {
  const bool real = type.kind == data::Hdf5Type::Kind::real;
  return fmt::format("{}{}", real ? 'f' : type.is_signed ? 'i' : 'u', type.bytes * 8);
}

inline void show_tokens(const data::Column& column, const data::TokenMeaning& tokens,
                        const RecordShow& how) {
  fmt::print("  text bytes  {}, {:.4f} a token\n", tokens.text_bytes,
             ratio(tokens.text_bytes, std::max<uint64_t>(1, column.rows)));
  fmt::print("  vocab size  {}\n", tokens.vocab_size);
  fmt::print("  tokenizer   {}\n", how.kind(tokens.tokenizer));
  if (!tokens.prefix.empty()) fmt::print("  prefix      \"{}\"\n", visible(tokens.prefix));
}

inline void show_categories(const data::Records& records, size_t number,
                            const data::CategoryMeaning& categories) {
  std::vector<int64_t> counts(categories.names.size());
  for (int64_t i = 0; i < records.count(); ++i)
    for (const int32_t id : records.categories(number, i)) ++counts[id];
  constexpr size_t kMostShown = 200;
  for (size_t i = 0; i < std::min(counts.size(), kMostShown); ++i)
    fmt::print("  {:10}  {}\n", counts[i], visible(categories.names[i]));
  if (counts.size() > kMostShown) fmt::print("  and {} more\n", counts.size() - kMostShown);
}

inline void show_column(const data::Records& records, size_t number, const RecordShow& how) {
  const data::Column& column = records.columns()[number];
  const data::ColumnInfo& info = column.info;
  fmt::print("column        {}: {}", visible(info.name), name_of(info.meaning));
  fmt::print(", {}{}\n", name_of_type(info.type),
             info.row_shape.empty() ? "" : fmt::format(" [{}]", fmt::join(info.row_shape, ",")));
  uint64_t longest = 1;
  for (size_t i = 1; i < column.starts.size(); ++i)
    longest = std::max(longest, column.starts[i] - column.starts[i - 1]);
  if (info.ragged)
    fmt::print("  rows        {}, {:.2f} a record, {} at most\n", column.rows,
               ratio(column.rows, records.count()), longest);
  if (const auto* tokens = std::get_if<data::TokenMeaning>(&info.meaning))
    show_tokens(column, *tokens, how);
  if (const auto* image = std::get_if<data::ImageMeaning>(&info.meaning))
    fmt::print("  mean        {:.4f}\n  deviation   {:.4f}\n", fmt::join(image->mean, ", "),
               fmt::join(image->deviation, ", "));
  if (const auto* categories = std::get_if<data::CategoryMeaning>(&info.meaning))
    show_categories(records, number, *categories);
}

inline void show_records(const std::string& path, const RecordShow& how) {
  const auto records = std::make_shared<const data::Records>(path, how.verify);
  fmt::print("path          {}\nformat        records\nrecords       {}\n", path, records->count());
  if (data::holds_graphs(*records)) show_graphs(records);
  if (data::holds_stories(*records)) show_stories(records);
  for (size_t i = 0; i < records->columns().size(); ++i) show_column(*records, i, how);
  if (how.verify) fmt::print("checksums     hold\n");
  if (!how.sheet.empty()) write_sheet(data::ImageRecords(records), how.sheet, how.augment);
}

}  // namespace skein
