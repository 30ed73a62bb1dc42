#include "skein/data/columns/records.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <xxhash.h>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/stores/store_fields.h"

#include "data/files/content_sum.h"
#include "data/files/token_file.h"
#include "data/stores/store_file.h"
#include "data/stores/store_layout.h"
#include "record_content.h"
#include "record_layout.h"

namespace skein::data {
namespace {

std::span<const uint64_t> starts_in(const MappedFile& file, uint64_t at, size_t count,
                                    std::vector<uint64_t>& copied) {
  const std::byte* bytes = file.at(at);
  if (at % alignof(uint64_t) == 0) return {reinterpret_cast<const uint64_t*>(bytes), count};
  copied.resize(count);
  std::memcpy(copied.data(), bytes, count * sizeof(uint64_t));
  return copied;
}

void check_starts(const std::string& path, const Column& column) {
  const std::string& name = column.info.name;
  const std::span<const uint64_t> starts = column.starts;
  require(starts.front() == 0, "{} is damaged: /{}/starts begins with {}, not 0", path, name,
          starts.front());
  const auto bad = std::adjacent_find(starts.begin(), starts.end(), std::greater<>());
  if (bad != starts.end())
    fail_usage("{} is damaged: /{}/starts falls at entry {}: {} is followed by {}", path, name,
               bad - starts.begin(), bad[0], bad[1]);
  require(starts.back() == column.rows,
          "{} is damaged: /{}/starts ends with {}, but /{}/values holds {} rows", path, name,
          starts.back(), name, column.rows);
}

formats::TokenType token_type(const ColumnInfo& column) {
  switch (column.type.bytes) {
    case 1: return formats::TokenType::u8;
    case 2: return formats::TokenType::u16;
    default: return formats::TokenType::u32;
  }
}

uint64_t value_bytes(const Column& column) {
  return column.rows * row_size(column.info) * column.info.type.bytes;
}

}  // namespace

const char* name_of(const ColumnMeaning& meaning) {
  constexpr const char* kNames[] = {"numbers", "tokens", "image", "categories"};
  return kNames[meaning.index()];
}

uint64_t row_size(const ColumnInfo& column) {
  uint64_t size = 1;
  for (const uint64_t dim : column.row_shape) size *= dim;
  return size;
}

ColumnInfo token_column(const std::string& name, const text::Tokenizer& tokenizer,
                        const std::string& prefix) {
  ColumnInfo column{.name = name, .meaning = {}, .ragged = true, .type = {}, .row_shape = {}};
  column.meaning = TokenMeaning{.tokenizer = text::StoredTokenizer(tokenizer.to_json()),
                                .vocab_size = tokenizer.vocab_size(),
                                .text_bytes = 0,
                                .prefix = prefix};
  const uint64_t width = token_width(tokenizer.vocab_size());
  column.type = {Hdf5Type::Kind::integer, width, false};
  return column;
}

ColumnInfo category_column(const std::string& name, const std::vector<std::string>& names,
                           bool ragged) {
  return {.name = name,
          .meaning = CategoryMeaning{names},
          .ragged = ragged,
          .type = {Hdf5Type::Kind::integer, static_cast<uint64_t>(token_width(std::ssize(names))),
                   false},
          .row_shape = {}};
}

ColumnInfo number_column(const std::string& name, int64_t width, bool ragged) {
  return {.name = name,
          .meaning = PlainMeaning{},
          .ragged = ragged,
          .type = {Hdf5Type::Kind::real, 4, false},
          .row_shape = {static_cast<uint64_t>(width)}};
}

Records::Records(const std::string& path, bool verify) {
  const auto content = std::make_shared<Content>();
  content->name = path;
  content->file.reset(new const MappedFile(map_store(path, kRecordStore)));
  const MappedFile& file = *content->file;
  check_superblock(path, file, kRecordStore);
  RecordLayout layout = read_record_layout(path, file.whole());
  content->count = layout.count;
  content->starts.resize(layout.columns.size());
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    ColumnLayout& from = layout.columns[i];
    Column column{.info = std::move(from.info),
                  .values = file.at(from.values_at),
                  .starts = {},
                  .rows = from.rows,
                  .sum = from.sum,
                  .starts_sum = from.starts_sum};
    if (column.info.ragged) {
      column.starts = starts_in(file, from.starts_at, layout.count + 1, content->starts[i]);
      check_starts(path, column);
    }
    content->columns.push_back(std::move(column));
    content->values_at.push_back(from.values_at);
    content->starts_at.push_back(from.starts_at);
  }
  content_ = content;
  if (verify) verify_sum();
}

Records::Records(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
Records::~Records() = default;
Records::Records(Records&&) noexcept = default;

const std::string& Records::name() const { return content_->name; }
int64_t Records::count() const { return content_->count; }
std::span<const Column> Records::columns() const { return content_->columns; }

size_t Records::column(const std::string& name) const {
  std::vector<std::string> names;
  for (const Column& column : columns()) {
    if (column.info.name == name) return names.size();
    names.push_back(column.info.name);
  }
  fail_usage("{} has no column \"{}\"; it has {}{}", this->name(), name, listed(names),
             did_you_mean(name, names));
}

int64_t Records::rows(size_t column, int64_t record) const {
  SKEIN_CHECK(column < columns().size() && record >= 0 && record < count());
  const std::span<const uint64_t> starts = columns()[column].starts;
  return starts.empty() ? 1 : starts[record + 1] - starts[record];
}

std::span<const std::byte> Records::values(size_t column, int64_t record) const {
  const int64_t count = rows(column, record);
  const Column& from = columns()[column];
  const uint64_t first = from.starts.empty() ? record : from.starts[record];
  const uint64_t row_bytes = row_size(from.info) * from.info.type.bytes;
  return {from.values + first * row_bytes, count * row_bytes};
}

std::vector<int32_t> Records::tokens(size_t column, int64_t record) const {
  const Column& from = columns()[column];
  const auto* meaning = std::get_if<TokenMeaning>(&from.info.meaning);
  SKEIN_CHECK(meaning != nullptr && from.info.ragged);
  std::vector<int32_t> ids(rows(column, record));
  const uint64_t largest =
      widened_tokens(token_type(from.info), values(column, record).data(), ids);
  require(ids.empty() || std::cmp_less(largest, meaning->vocab_size),
          "{} is damaged: record {} has token {} in column \"{}\", outside its vocabulary of {} "
          "ids; copy it again or make it again",
          name(), record, largest, from.info.name, meaning->vocab_size);
  return ids;
}

std::vector<int32_t> Records::categories(size_t column, int64_t record) const {
  const Column& from = columns()[column];
  const auto& names = std::get<CategoryMeaning>(from.info.meaning).names;
  std::vector<int32_t> ids(rows(column, record));
  const uint64_t found = widened_tokens(token_type(from.info), values(column, record).data(), ids);
  require(ids.empty() || found < names.size(),
          "{} is damaged: record {} has the number {} in column \"{}\", which has {} names; copy "
          "it again or make it again",
          name(), record, found, from.info.name, names.size());
  return ids;
}

int32_t Records::category(size_t column, int64_t record) const {
  SKEIN_CHECK(!columns()[column].info.ragged);
  return categories(column, record).front();
}

uint64_t Records::fingerprint() const {
  uint64_t sum = count();
  for (const Column& column : columns()) {
    const uint64_t parts[] = {sum, column.sum, column.starts_sum, column.rows,
                              column.info.type.bytes};
    const std::string& name = column.info.name;
    sum = XXH3_64bits_withSeed(name.data(), name.size(), XXH3_64bits(parts, sizeof parts));
  }
  return sum;
}

int64_t Records::bytes() const {
  uint64_t bytes = 0;
  for (const Column& column : columns())
    bytes += value_bytes(column) + column.starts.size() * sizeof(uint64_t);
  return bytes;
}

// By reading rather than through the map, where the error of a disk would end the process (SIGBUS).
void Records::verify_sum(const std::function<bool()>& go_on) const {
  if (!content_->file) return;
  const auto file = content_->file->open_again(name());
  const auto holds = [&](const std::string& what, uint64_t at, uint64_t bytes, uint64_t wanted) {
    const auto sum = content_sum(file->get(), name(), at, bytes, go_on);
    if (sum && *sum != wanted)
      fail(
          "{} is damaged: the XXH3 sum of /{} is {:016x}, it should be {:016x}; copy it again or "
          "make it again with {}",
          name(), what, *sum, wanted, kRecordStore.maker);
    return sum.has_value();
  };
  for (size_t i = 0; i < columns().size(); ++i) {
    const Column& column = columns()[i];
    if (!holds(column.info.name + "/values", content_->values_at[i], value_bytes(column),
               column.sum))
      return;
    if (column.info.ragged && !holds(column.info.name + "/starts", content_->starts_at[i],
                                     column.starts.size_bytes(), column.starts_sum))
      return;
  }
}

bool is_record_store(const std::string& path) {
  if (!is_hdf5(path)) return false;
  const MappedFile file = map_store(path, kRecordStore);
  bool found = false;
  const std::string refused = refusal_of([&] {
    const Hdf5View view(file.whole());
    const Hdf5Object root = view.object("");
    const auto format = root.attribute("format");
    found = format && root.text(*format) == kRecordStore.format;
  });
  return refused.empty() && found;
}

}  // namespace skein::data
