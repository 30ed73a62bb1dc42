// What Records are made of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/core/files/mapped_file.h"
#include "skein/data/columns/records.h"

namespace skein::data {

// Its columns refer to the file, or to the bytes in memory.
struct Records::Content {
  std::string name;
  int64_t count = 0;
  std::vector<Column> columns;
  std::unique_ptr<const MappedFile> file;      // null: in memory
  std::vector<uint64_t> values_at, starts_at;  // in the file
  std::vector<std::vector<std::byte>> values;  // in memory
  std::vector<std::vector<uint64_t>> starts;   // there, or where a file aligns none
};

}  // namespace skein::data
