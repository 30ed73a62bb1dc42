// What the tests of this folder share: scratch space, small stores, and the text of an expected
// error.
#pragma once

#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "skein/data/samples/batch.h"
#include "skein/data/stores/store.h"

#include "support/expect_error.h"
#include "support/scratch.h"

namespace skein::test {

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

using Documents = std::vector<std::vector<int32_t>>;

inline data::StoreInfo write_store(const std::string& path, int64_t vocab_size, int64_t end_of_text,
                                   const Documents& documents,
                                   const std::string& tokenizer = "{\"kind\":\"test\"}") {
  data::TokenStoreWriter writer(path, vocab_size, end_of_text, tokenizer);
  for (const auto& document : documents)
    writer.add_document(document, static_cast<int64_t>(document.size()));
  return writer.finish();
}

inline std::vector<int32_t> all_tokens(const data::TokenStore& store) {
  std::vector<int32_t> tokens(static_cast<size_t>(store.info().tokens));
  store.read(0, tokens);
  return tokens;
}

// Of x [B,T].
template <class T>
std::vector<T> row(const Tensor& x, int64_t number) {
  const T* const from = data::row_of<T>(x, number);
  return {from, from + x.dim(1)};
}

// The ids begin, begin + 1, ... as one document.
inline std::vector<int32_t> ascending(int32_t begin, int32_t count) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back(begin + i);
  return ids;
}

}  // namespace skein::test
