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

struct DataFile {
  std::string option;  // that names it: "data.train"
  std::string path;    // in its shortest form: "a/b.h5" for "./a//b.h5"
  int64_t bytes = 0;   // of the file; of a token store those of its tokens
  uint64_t sum = 0;    // XXH3-64 of the file; of a token store its fingerprint
  std::shared_ptr<const TokenStore> store{};  // null: no token store, or remembered only

  bool same_content(const DataFile& other) const {
    return bytes == other.bytes && sum == other.sum;
  }
  // "4000 bytes with sum 0123456789abcdef".
  std::string identity() const;
};

// Costs a few pages of each.
std::vector<DataFile> store_files(const std::string& option,
                                  const std::vector<std::shared_ptr<TokenStore>>& stores);

// Files of records, by the option that names them. Reads them once. What is no regular file (stdin,
// a pipe) is left out, for it cannot be read again.
std::vector<DataFile> record_files(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& named);

}  // namespace skein::data
