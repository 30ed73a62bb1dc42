// Token stores: the tokens of many documents end to end, with the tokenizer that made them. Skein's
// own are HDF5 files; the token files of Megatron-LM, nanoGPT and llm.c (skein/formats/indexed.h)
// are read as they are.
//
// Layout of the HDF5 files (docs/token-store.md), 1-D contiguous datasets:
//   /tokens     u8, u16 or u32 (the smallest that holds vocab_size)
//   /documents  u64 [documents + 1], start of each document in /tokens; the last entry is the
//               number of tokens
//   /sentences  u64 [sentences + 1], optional: start of each sentence, every document's start among
//               them; the last entry is the number of tokens
// and attributes on the root:
//   format "skein-tokens", version 1, vocab_size, end_of_text (-1 if none), text_bytes (UTF-8 bytes
//   the tokens came from), tokenizer (its JSON), xxh3 of the token bytes; optional:
//   documents_xxh3 and sentences_xxh3 of the bytes of those, a failure where they do not agree
//
// Each document is followed by end_of_text where the tokenizer has one; it belongs to the
// document's last sentence. Stores converted from other programs' files keep it where those had it:
// all documents end with it, all begin with it, or none ends with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "skein/core/files/output_target.h"
#include "skein/data/files/summed_file.h"
#include "skein/text/tokenizer.h"

namespace skein::data {

enum class TokenFormat { native, megatron, nanogpt, llmc };

struct StoreInfo {
  TokenFormat format = TokenFormat::native;
  int64_t tokens = 0;
  int64_t documents = 0;   // 0 where only TokenStore::documents() finds them (nanoGPT, llm.c)
  int64_t sentences = 0;   // 0 where the store does not know them
  int64_t vocab_size = 0;  // 0 if unknown
  int64_t end_of_text = -1;
  int64_t text_bytes = 0;           // 0 if unknown
  text::StoredTokenizer tokenizer;  // none if unknown
};

// What token files of other programs do not say of themselves. Found in NAME.meta.json beside
// NAME.bin, a JSON object with any of: tokenizer (a path from that folder, "bytes", or the
// tokenizer's own JSON), vocab_size, end_of_text, text_bytes, end_of_text_at ("begin" or "end").
struct TokenNotes {
  text::StoredTokenizer tokenizer{};
  int64_t vocab_size = 0;    // the tokenizer's where there is one
  int64_t end_of_text = -1;  // likewise
  int64_t text_bytes = 0;
  // Which of nanoGPT's and llm.c's documents end_of_text belongs to. Unless it is said: to the one
  // it begins where the file begins with it, else to the one it ends where the file ends with it,
  // else as the program writes it (nanoGPT: end).
  std::string end_of_text_at;
};

// The notes of a tokenizer file; none for "". vocab_size: where no tokenizer says it.
TokenNotes notes_of_tokenizer(const std::string& path, int64_t vocab_size = 0);

class StoreFile;

// Reads by memory map: any thread may read at any time.
class TokenStore : public SummedFile {
 public:
  // A usage error naming the path when the file is missing, empty, truncated, not HDF5 or not a
  // token store (with what it is instead), or when its bounds are not ascending. verify = true also
  // reads all tokens: it checks the sum of their bytes (HDF5, with the Error of verify_sum) or that
  // they are ids, the sentences, and where documents have end_of_text. Megatron-LM's are named by
  // either of their files or by what their names share, nanoGPT's and llm.c's end in .bin.
  explicit TokenStore(const std::string& path, bool verify = false);
  // `notes` fill in what neither the file nor its .meta.json says. A usage error when their
  // tokenizers differ.
  TokenStore(const std::string& path, const TokenNotes& notes, bool verify = false);
  ~TokenStore() override;
  TokenStore(TokenStore&&) noexcept;

  const StoreInfo& info() const;
  const std::string& path() const { return path_; }
  // Tokens [begin, begin + out.size()) as i32. A usage error naming path, position and id when one
  // is not below vocab_size (where that is unknown: not an i32 from 0 on).
  void read(int64_t begin, std::span<int32_t> out) const;
  // Tells replaced data at the price of a few pages: XXH3 of all tokens as an HDF5 store says it of
  // itself; of other programs' files above 1 MiB that of their size and of 256 blocks of 4 KiB
  // spread evenly, the first and the last among them, so that a change between those is not seen.
  uint64_t fingerprint() const;
  // Of all tokens.
  int64_t bytes() const;
  // Of the tokens; files of other programs carry none.
  void verify_sum(const std::function<bool()>& go_on = {}) const override;
  // A usage error that says how to give it when the vocabulary is unknown.
  void require_vocabulary() const;
  // A usage error when the store does not know its sentences: `user` is the option that needs them,
  // `otherwise` what to give to do without.
  void require_sentences(const std::string& user, const std::string& otherwise) const;
  // The document that token `position` belongs to.
  int64_t document_at(int64_t position) const;
  // Start of each document, and the number of tokens at the end. Of files of other programs the
  // first call finds them, for nanoGPT and llm.c by reading all tokens; without an end_of_text
  // those are one document.
  std::span<const uint64_t> documents() const;
  // Start of each sentence, and the number of tokens at the end; empty where the store does not
  // know them. The first call reads them all and is a usage error when they do not ascend or a
  // document's start is not among them.
  std::span<const uint64_t> sentences() const;

 private:
  std::string path_;
  std::unique_ptr<StoreFile> file_;
};

// Writes a store in bounded memory: tokens stream to a temporary file beside `path`, finish() lays
// out the HDF5 file, moves the tokens in and renames it into place. Nothing is left behind when it
// is destroyed before finish(). Every failing write is an Error(failure) naming the path and the
// cause.
class TokenStoreWriter {
 public:
  // with_sentences: the store gets /sentences. A usage error as file_target.
  TokenStoreWriter(const std::string& path, int64_t vocab_size, int64_t end_of_text,
                   std::string tokenizer_json, bool with_sentences = false,
                   ExistingFile existing = ExistingFile::replace);
  ~TokenStoreWriter();

  // Adds tokens to the document that the next add_document ends, so that a long one need not be
  // held whole. That call must come before finish().
  void append(std::span<const int32_t> tokens, int64_t text_bytes);
  // Ends a sentence after what was appended, if that was any token. add_document ends the
  // document's last sentence. Only for a writer with_sentences.
  void end_sentence();
  // Adds one document's tokens; end_of_text is appended here. A document that ends up without any
  // token is left out. A usage error when an id is outside the vocabulary.
  void add_document(std::span<const int32_t> tokens, int64_t text_bytes);
  // Ends the document with what was appended, for tokens that hold their end_of_text already;
  // nothing if that was none.
  void end_document();
  // A usage error when no token was added. With ExistingFile::replace a file that is already at
  // `path` is replaced.
  StoreInfo finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace skein::data
