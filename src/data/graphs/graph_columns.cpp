#include "graph_columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "skein/core/error.h"

namespace skein::data {
namespace {

size_t column_of(const GraphRecords& store, const std::string& column) {
  return store.records().column(column);
}

const ColumnInfo& info_of(const GraphRecords& store, const std::string& column) {
  return store.records().columns()[column_of(store, column)].info;
}

void check_type(const GraphRecords& store, const std::string& column, Hdf5Type::Kind kind,
                uint64_t bytes) {
  const ColumnInfo& info = info_of(store, column);
  require(info.type.kind == kind && info.type.bytes == bytes && info.row_shape.size() <= 1,
          "{}: its column \"{}\" is not of numbers as `skein-data graphs` writes them",
          store.records().name(), column);
}

template <class Number>
std::vector<Number> read(const GraphRecords& store, const std::string& column, int64_t record,
                         int64_t rows) {
  const size_t number = column_of(store, column);
  const int64_t there = store.records().rows(number, record);
  require(there == rows, "{} is damaged: record {} has {} rows of {}; {} belong there",
          store.records().name(), record, there, column, rows);
  const std::span<const std::byte> bytes = store.records().values(number, record);
  std::vector<Number> made(bytes.size() / sizeof(Number));
  if (!made.empty()) std::memcpy(made.data(), bytes.data(), made.size() * sizeof(Number));
  return made;
}

}  // namespace

std::span<const std::string> names_of_column(const GraphRecords& store, const std::string& column) {
  const auto number = store.column(column);
  if (!number) return {};
  const auto* names =
      std::get_if<CategoryMeaning>(&store.records().columns()[*number].info.meaning);
  if (!names) return {};
  return names->names;
}

int64_t numbering_of_column(const GraphRecords& store, const std::string& column) {
  const auto* plain = std::get_if<PlainMeaning>(&info_of(store, column).meaning);
  return plain ? plain->numbering : 0;
}

int64_t width_of_column(const GraphRecords& store, const std::string& column) {
  const auto width = row_size(info_of(store, column));
  constexpr uint64_t kMost = uint64_t{1} << 24;
  require(width <= kMost, "{}: a row of \"{}\" has {} numbers; {} is the most",
          store.records().name(), column, width, kMost);
  return static_cast<int64_t>(width);
}

std::vector<float> column_numbers(const GraphRecords& store, const std::string& column,
                                  int64_t record, int64_t rows) {
  check_type(store, column, Hdf5Type::Kind::real, 4);
  std::vector<float> made = read<float>(store, column, record, rows);
  for (const float one : made)
    require(std::isfinite(one), "{} is damaged: record {} has a {} that is no finite number",
            store.records().name(), record, column);
  return made;
}

std::vector<uint32_t> column_whole_numbers(const GraphRecords& store, const std::string& column,
                                           int64_t record, int64_t rows) {
  check_type(store, column, Hdf5Type::Kind::integer, 4);
  return read<uint32_t>(store, column, record, rows);
}

std::vector<uint8_t> column_bytes(const GraphRecords& store, const std::string& column,
                                  int64_t record, int64_t rows) {
  check_type(store, column, Hdf5Type::Kind::integer, 1);
  return read<uint8_t>(store, column, record, rows);
}

NodeBags bags_of(const GraphRecords& store, int64_t record) {
  const int64_t nodes = store.nodes(record);
  NodeBags made{store.records().categories(column_of(store, name_of(GraphPart::node_bag)), record),
                column_whole_numbers(store, kBagStartsColumn, record, nodes + 1)};
  require(made.starts.front() == 0 && std::ranges::is_sorted(made.starts) &&
              made.starts.back() == made.ids.size(),
          "{} is damaged: {} of record {} do not rise from 0 to the {} of {}",
          store.records().name(), kBagStartsColumn, record, made.ids.size(),
          name_of(GraphPart::node_bag));
  return made;
}

}  // namespace skein::data
