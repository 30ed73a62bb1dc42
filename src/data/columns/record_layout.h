// The HDF5 side of a store of records: what lies where. No values pass through here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "skein/data/columns/records.h"

namespace skein::data {

struct ColumnLayout {
  ColumnInfo info;
  uint64_t rows = 0;
  uint64_t values_at = 0, starts_at = 0;  // offsets in the file, in bytes
  uint64_t sum = 0, starts_sum = 0;

  uint64_t value_bytes() const { return rows * row_size(info) * info.type.bytes; }
};

struct RecordLayout {
  int64_t count = 0;
  std::vector<ColumnLayout> columns;
};

// From the file's bytes, which are those of `path`: checks every attribute and dataset against the
// format and the file's size, but not what starts say. Usage errors as Records says.
RecordLayout read_record_layout(const std::string& path, std::span<const std::byte> file);

// Fills the empty file `path`, which its maker made exclusively, with all attributes and with room
// for the datasets; fills in the offsets. Error(failure) naming the path and HDF5's reason.
void write_record_layout(const std::string& path, RecordLayout& layout);

}  // namespace skein::data
