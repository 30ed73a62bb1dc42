// Token files as other programs write them.
#pragma once

#include <cstring>

#include "skein/data/samples/loader.h"
#include "skein/formats/indexed.h"
#include "skein/text/tokenizer.h"

#include "data/data_fixtures.h"

namespace skein::test {

constexpr int32_t kEnd = 299;

inline const data::TokenNotes kNotes{
    .tokenizer = {}, .vocab_size = 300, .end_of_text = kEnd, .text_bytes = 0, .end_of_text_at = ""};
const std::string kGolden = "data/golden/";

// The documents of tools/make_token_files.py.
inline Documents golden_documents() {
  Documents documents;
  int32_t i = 0;
  for (const int length : {5, 1, 40, 17}) {
    documents.emplace_back();
    for (int k = 0; k < length; ++k, ++i) documents.back().push_back((7919 * i + 13) % kEnd);
  }
  return documents;
}

inline std::vector<uint64_t> list(std::span<const uint64_t> starts) {
  return {starts.begin(), starts.end()};
}

inline const std::vector<uint64_t> kStarts{0, 6, 8, 49, 67};

// The golden tokens as a native store.
inline std::string native_store(const Scratch& scratch) {
  write_store(scratch.file("native.h5"), 300, kEnd, golden_documents(), "");
  return scratch.file("native.h5");
}

inline std::string copy_of(const Scratch& scratch, const std::string& name, const std::string& as) {
  std::filesystem::copy_file(kGolden + name, scratch.file(as),
                             std::filesystem::copy_options::overwrite_existing);
  return scratch.file(as);
}

}  // namespace skein::test
