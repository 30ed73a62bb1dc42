// What TokenStore reads from: one opened and checked file of any format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "skein/data/stores/store.h"
#include "skein/formats/indexed.h"

namespace skein::data {

class StoreFile {
 public:
  virtual ~StoreFile() = default;
  const StoreInfo& info() const { return info_; }
  uint64_t bytes() const { return info_.tokens * token_bytes(type_); }  // of all tokens
  int64_t id_at(uint64_t position) const;
  // Tokens from `begin` on. Returns the largest id, a negative one counting as huge.
  uint64_t read(int64_t begin, std::span<int32_t> out) const;
  // As TokenStore says.
  std::span<const uint64_t> documents();
  std::span<const uint64_t> sentences();
  virtual void verify_sum(const std::function<bool()>& /*go_on*/) const {}
  // As TokenStore says: of all tokens where the file has a sum of them, else of some.
  virtual uint64_t fingerprint() const;

 protected:
  StoreFile() = default;
  explicit StoreFile(const TokenNotes& notes);
  // Each is called once.
  virtual std::span<const uint64_t> find_documents() = 0;
  virtual std::span<const uint64_t> find_sentences() { return {}; }

  StoreInfo info_;
  formats::TokenType type_ = formats::TokenType::u16;
  const std::byte* tokens_ = nullptr;  // at any address

 private:
  std::once_flag documents_found_, sentences_found_;
  std::span<const uint64_t> document_starts_, sentence_starts_;
};

// Numbers of a type as ids. Returns the largest, a negative one counting as huge. The bytes may lie
// at any address.
uint64_t widened_tokens(formats::TokenType type, const std::byte* source, std::span<int32_t> out);

// Without a tokenizer of its own it takes that of `notes` if it has as many ids.
std::unique_ptr<StoreFile> open_hdf5_store(const std::string& path, const TokenNotes& notes);
// stem.idx and stem.bin.
std::unique_ptr<StoreFile> open_indexed_store(const std::string& stem, const TokenNotes& notes);
// nanoGPT's or llm.c's.
std::unique_ptr<StoreFile> open_bare_store(const std::string& path, const TokenNotes& notes);

// Those of stem.meta.json, where there is one, filled in from `given`.
TokenNotes notes_beside(const std::string& stem, const TokenNotes& given);
// What the names of a file of tokens and of those beside it share: without .bin or .idx.
std::string stem_of(const std::string& path);
// Where the notes stand.
std::string notes_path(const std::string& stem);
// The tokenizer's JSON as it is.
std::string notes_json(const TokenNotes& notes);

}  // namespace skein::data
