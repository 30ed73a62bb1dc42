// Which files a run learns from and is judged by, as its checkpoints remember them: a path says
// nothing of what lies there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skein/data/stores/store.h"

namespace skein::data {

// What data.train and data.validation list: "path" or "weight:path".
struct DataEntry {
  double weight = 1;
  std::string path;
};
// A usage error for a weight that is no number above 0, and for no path.
DataEntry data_entry(const std::string& text);

struct DataFile {
  std::string option;  // that names it: "data.train"
  std::string path;    // in its shortest form: "a/b.h5" for "./a//b.h5"
  int64_t bytes = 0;   // of the file; of a store those of its tokens or values
  uint64_t sum = 0;    // XXH3-64 of the file; of a store its fingerprint
  std::shared_ptr<const SummedFile> store{};  // null: carries no sum, or remembered only

  bool same_content(const DataFile& other) const {
    return bytes == other.bytes && sum == other.sum;
  }
  // "4000 bytes with sum 0123456789abcdef".
  std::string identity() const;
};

// Of a store that carries a sum; fingerprint: of what it holds.
DataFile store_file(const std::string& option, const std::string& path, int64_t bytes,
                    uint64_t fingerprint, std::shared_ptr<const SummedFile> store);

// Costs a few pages of each.
std::vector<DataFile> store_files(const std::string& option,
                                  const std::vector<std::shared_ptr<TokenStore>>& stores);

// Files of records, by the option that names them. Reads them once. What is no regular file (stdin,
// a pipe) is left out, for it cannot be read again.
std::vector<DataFile> record_files(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& named);

}  // namespace skein::data
