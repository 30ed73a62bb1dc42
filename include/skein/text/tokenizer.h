// Text to token ids and back. Two kinds: bytes (256 ids and end-of-text), and byte-level BPE with GPT-2's
// splitting. decode(encode(x)) == x for any bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace skein {

// Ids that mean something to models; -1 where a tokenizer has no such token.
struct TokenRoles {
  int32_t pad = -1, unk = -1;
  int32_t cls = -1, sep = -1;  // what a sample of BERT begins with, and what ends each of its parts; RoBERTa's <s> and </s>
  int32_t mask = -1;
  int32_t bos = -1, eos = -1;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual int64_t vocab_size() const = 0;
  // The id that ends a document; -1 if there is none.
  virtual int32_t end_of_text() const = 0;
  // Plain text only: no special token is ever produced from it. Thread-safe.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  virtual TokenRoles roles() const { return {.eos = end_of_text()}; }
  // Whether a word begins with this id, for masks of whole words; special tokens are words of their own. Byte-level: the
  // token begins with white space; WordPiece: it has no continuation prefix.
  virtual bool begins_word(int32_t id) const;
  // The bytes of one id; "" for special tokens. A usage error for an id outside [0, vocab_size).
  virtual std::string_view bytes_of(int32_t id) const = 0;
  // All that is needed to make it again; stable, so equal tokenizers have equal JSON.
  virtual std::string to_json() const = 0;

  std::string decode(const std::vector<int32_t>& ids) const;
};

// 256 byte ids, then end-of-text = 256.
std::unique_ptr<Tokenizer> byte_tokenizer();

// merges: pairs of ids in order of rank; ids 0-255 are bytes in GPT-2's order of its alphabet, id 256 + k is
// the k-th merge, the last id is end-of-text.
std::unique_ptr<Tokenizer> bpe_tokenizer(std::vector<std::pair<int32_t, int32_t>> merges);

// From to_json()'s text. A usage error saying what is missing or unknown.
std::unique_ptr<Tokenizer> tokenizer_from_json(const std::string& json);
// From a file of it; "bytes" names the byte tokenizer.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);

}  // namespace skein
