// The HDF5 side of a token store: what lies where. No tokens pass through here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "skein/data/stores/store.h"

namespace skein::data {

constexpr int64_t kLargestVocabulary = std::numeric_limits<int32_t>::max();

struct StoreLayout {
  StoreInfo info;
  int width = 0;              // bytes a token
  uint64_t tokens_at = 0;     // offset of /tokens in the file, in bytes
  uint64_t documents_at = 0;  // offset of /documents, in bytes
  uint64_t sentences_at = 0;  // offset of /sentences; where info.sentences is 0 there are none
  uint64_t sum = 0;           // XXH3-64 of the token bytes
  // The same of /documents and /sentences; stores of older programs have none.
  std::optional<uint64_t> documents_sum, sentences_sum;
};

// Bytes a token of a vocabulary takes: 1, 2 or 4.
int token_width(int64_t vocab_size);

// From the file's bytes, which are those of `path`: checks every attribute and dataset against the
// format and the file's size. The HDF5 library sees nothing of them. Usage errors as TokenStore
// says.
StoreLayout read_store_layout(const std::string& path, std::span<const std::byte> file);

// Fills the empty file `path`, which its maker made exclusively, with all attributes and with room
// for the datasets of layout.info and layout.width; fills in the offsets. Error(failure) naming the
// path and HDF5's reason.
void write_store_layout(const std::string& path, StoreLayout& layout);

}  // namespace skein::data
