// HDF5 token stores: the tokens of many documents end to end, with the tokenizer that made them.
//
// Layout (docs/token-store.md): 1-D contiguous datasets
//   /tokens    u8, u16 or u32 (the smallest that holds vocab_size)
//   /documents u64 [documents + 1], start of each document in /tokens; the last entry is the number of tokens
//   /sentences u64 [sentences + 1], optional: start of each sentence, every document's start among them; the last
//              entry is the number of tokens
// and attributes on the root: format "skein-tokens", version 1, vocab_size, end_of_text (-1 if none),
//   text_bytes (UTF-8 bytes the tokens came from), tokenizer (its JSON), xxh3 of the token bytes.
// Each document is followed by end_of_text where the tokenizer has one; it belongs to the document's last sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace skein {

struct StoreInfo {
  int64_t tokens = 0;
  int64_t documents = 0;
  int64_t sentences = 0;  // 0 where the store does not know them
  int64_t vocab_size = 0;
  int64_t end_of_text = -1;
  int64_t text_bytes = 0;
  std::string tokenizer;  // JSON, as Tokenizer::to_json writes it
};

// Reads by memory map: any thread may read at any time.
class TokenStore {
 public:
  // A usage error naming the path when the file is missing, empty, truncated, not HDF5 or not a token store
  // (with what it is instead), or when its bounds are not ascending. verify = true also checks the sum of
  // all token bytes, the sentences, and that each document ends in end_of_text where the tokenizer has one.
  explicit TokenStore(const std::string& path, bool verify = false);
  ~TokenStore();
  TokenStore(TokenStore&&) noexcept;

  const StoreInfo& info() const;
  const std::string& path() const;
  // Tokens [begin, begin + out.size()) as i32. A usage error naming path, position and id when one is not
  // below vocab_size.
  void read(int64_t begin, std::span<int32_t> out) const;
  // The document that token `position` belongs to.
  int64_t document_at(int64_t position) const;
  // Start of each document, and the number of tokens at the end.
  std::span<const uint64_t> documents() const;
  // Start of each sentence, and the number of tokens at the end; empty where the store does not know them. The first call
  // reads them all and is a usage error when they do not ascend or a document's start is not among them.
  std::span<const uint64_t> sentences() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Writes a store in bounded memory: tokens stream to a temporary file beside `path`, finish() lays out
// the HDF5 file, moves the tokens in and renames it into place. Nothing is left behind when it is
// destroyed before finish(). Every failing write is an Error(failure) naming the path and the cause.
class TokenStoreWriter {
 public:
  // with_sentences: the store gets /sentences.
  TokenStoreWriter(std::string path, int64_t vocab_size, int64_t end_of_text, std::string tokenizer_json,
                   bool with_sentences = false);
  ~TokenStoreWriter();

  // Adds tokens to the document that the next add_document ends, so that a long one need not be held whole.
  // That call must come before finish().
  void append(std::span<const int32_t> tokens, int64_t text_bytes);
  // Ends a sentence after what was appended, if that was any token. add_document ends the document's last sentence. Only for
  // a writer with_sentences.
  void end_sentence();
  // Adds one document's tokens; end_of_text is appended here. A document that ends up without any token is
  // left out. A usage error when an id is outside the vocabulary.
  void add_document(std::span<const int32_t> tokens, int64_t text_bytes);
  // A usage error when no token was added. Replaces a file that is already at `path`.
  StoreInfo finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace skein
