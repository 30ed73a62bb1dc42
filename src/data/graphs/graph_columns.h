// Columns of stores of graphs, read with care: anybody may have written them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "skein/data/graphs/graph_store.h"

namespace skein::data {

// The names of a column of categories; none where the store lacks it, or it holds numbers.
std::span<const std::string> names_of_column(const GraphRecords& store, const std::string& column);
// What tells the numbers of a column from those of other stores; 0: they mean the same in all.
int64_t numbering_of_column(const GraphRecords& store, const std::string& column);
// Numbers of a row of a column of f32 or u32. A usage error for another one.
int64_t width_of_column(const GraphRecords& store, const std::string& column);
// Of a record's column of f32, `rows` rows of them. A usage error where there are others.
std::vector<float> column_numbers(const GraphRecords& store, const std::string& column,
                                  int64_t record, int64_t rows);
std::vector<uint32_t> column_whole_numbers(const GraphRecords& store, const std::string& column,
                                           int64_t record, int64_t rows);
std::vector<uint8_t> column_bytes(const GraphRecords& store, const std::string& column,
                                  int64_t record, int64_t rows);

struct NodeBags {
  std::vector<int32_t> ids;
  std::vector<uint32_t> starts;  // [nodes + 1]
};
NodeBags bags_of(const GraphRecords& store, int64_t record);

}  // namespace skein::data
