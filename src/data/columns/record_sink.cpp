#include "skein/data/columns/record_sink.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <xxhash.h>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

#include "record_content.h"

namespace skein::data {
namespace {

template <class T>
std::vector<std::byte> narrowed(std::span<const int32_t> ids) {
  const std::vector<T> numbers(ids.begin(), ids.end());
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

RecordSink::RecordSink(std::string name, std::vector<ColumnInfo> columns)
    : name_(std::move(name)),
      columns_(std::move(columns)),
      rows_(columns_.size(), 0),
      sums_(columns_.size()) {
  SKEIN_CHECK(!columns_.empty());
  std::ranges::sort(columns_, {}, &ColumnInfo::name);
  const auto twice = std::ranges::adjacent_find(columns_, {}, &ColumnInfo::name);
  SKEIN_CHECK(twice == columns_.end());
}

void RecordSink::add_tokens(size_t column, std::span<const int32_t> ids, int64_t text_bytes) {
  ColumnInfo& into = columns_.at(column);
  auto& meaning = std::get<TokenMeaning>(into.meaning);
  const auto bad =
      std::ranges::find_if(ids, [&](int32_t id) { return id < 0 || id >= meaning.vocab_size; });
  if (bad != ids.end())
    fail_usage("{}: token {} of record {} is {}, outside the vocabulary of {} ids of \"{}\"", name_,
               bad - ids.begin(), count_, *bad, meaning.vocab_size, into.name);
  meaning.text_bytes += text_bytes;
  add_rows(column, into.type.bytes == 1   ? narrowed<uint8_t>(ids)
                   : into.type.bytes == 2 ? narrowed<uint16_t>(ids)
                                          : narrowed<uint32_t>(ids));
}

void RecordSink::add_image(size_t column, std::span<const uint8_t> values) {
  const ColumnInfo& into = columns_.at(column);
  SKEIN_CHECK(std::holds_alternative<ImageMeaning>(into.meaning));
  SKEIN_CHECK_EQ(values.size(), row_size(into));
  auto& sums = sums_[column];
  sums.resize(into.row_shape[0]);
  const size_t pixels = values.size() / sums.size();
  for (size_t i = 0; i < values.size(); ++i) {
    ChannelSums& of = sums[i / pixels];
    of.values += values[i];
    of.squares += uint64_t{values[i]} * values[i];
  }
  add_rows(column, std::as_bytes(values));
}

void RecordSink::add_category(size_t column, int32_t id) {
  const ColumnInfo& into = columns_.at(column);
  SKEIN_CHECK(id >= 0 && id < std::ssize(std::get<CategoryMeaning>(into.meaning).names));
  add_rows(column, std::as_bytes(std::span(&id, 1)).first(into.type.bytes));
}

void RecordSink::settle_meanings() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    auto* image = std::get_if<ImageMeaning>(&columns_[i].meaning);
    if (image == nullptr) continue;
    *image = {};
    const double pixels = ratio(rows_[i] * row_size(columns_[i]), std::ssize(sums_[i]));
    for (const ChannelSums& of : sums_[i]) {
      const double mean = of.values / pixels, square = of.squares / pixels - mean * mean;
      image->mean.push_back(mean / 255);
      image->deviation.push_back(square > 0 ? std::sqrt(square) / 255 : 1);
    }
  }
}

void RecordSink::add_rows(size_t column, std::span<const std::byte> rows) {
  const ColumnInfo& into = columns_.at(column);
  const uint64_t row_bytes = row_size(into) * into.type.bytes;
  SKEIN_CHECK_EQ(rows.size() % row_bytes, uint64_t{0});
  rows_[column] += rows.size() / row_bytes;
  store(column, rows);
}

void RecordSink::end_record() {
  ++count_;
  for (size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].ragged)
      store_start(i, rows_[i]);
    else
      SKEIN_CHECK(std::cmp_equal(rows_[i], count_));
}

RecordBuilder::RecordBuilder(const std::string& name, std::vector<ColumnInfo> columns)
    : RecordSink(name, std::move(columns)), content_(std::make_shared<Records::Content>()) {
  content_->name = name;
  content_->values.resize(columns_.size());
  content_->starts.resize(columns_.size(), {0});
}

RecordBuilder::~RecordBuilder() = default;

void RecordBuilder::store(size_t column, std::span<const std::byte> bytes) {
  std::vector<std::byte>& values = content_->values[column];
  values.insert(values.end(), bytes.begin(), bytes.end());
}

void RecordBuilder::store_start(size_t column, uint64_t rows) {
  content_->starts[column].push_back(rows);
}

Records RecordBuilder::finish() {
  SKEIN_CHECK(count_ > 0 && content_ != nullptr);
  settle_meanings();
  content_->count = count_;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::vector<std::byte>& values = content_->values[i];
    Column column{.info = columns_[i],
                  .values = values.data(),
                  .starts = {},
                  .rows = rows_[i],
                  .sum = XXH3_64bits(values.data(), values.size()),
                  .starts_sum = 0};
    if (column.info.ragged) {
      column.starts = content_->starts[i];
      column.starts_sum = XXH3_64bits(column.starts.data(), column.starts.size_bytes());
    }
    content_->columns.push_back(std::move(column));
  }
  return Records(std::exchange(content_, nullptr));
}

}  // namespace skein::data
