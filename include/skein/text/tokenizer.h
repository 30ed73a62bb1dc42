// Text to token ids and back. Own kinds: bytes (256 ids and end-of-text), and byte-level BPE with
// GPT-2's splitting; decode(encode(x)) == x for any bytes. Imported kinds, which may normalise
// text: those of Hugging Face's tokenizer.json (BPE over bytes and over characters, WordPiece,
// Unigram, whole words), and files of SentencePiece; docs/data.md says what of them is understood.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/core/stored.h"

namespace skein::text {

// Ids that mean something to models; -1 where a tokenizer has no such token.
struct TokenRoles {
  int32_t pad = -1, unk = -1;
  // what a sample of BERT begins with, and what ends each of its parts; RoBERTa's <s> and </s>
  int32_t cls = -1, sep = -1;
  int32_t mask = -1;
  int32_t bos = -1, eos = -1;
};

// A sample as a model is fed it.
struct TemplatedIds {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;  // of each id: 0, or 1 in what belongs to the second text
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual int64_t vocab_size() const = 0;
  // The id that ends a document; -1 if there is none.
  virtual int32_t end_of_text() const = 0;
  // Plain text only: no special token is ever produced from it, except for unknown words. Added
  // tokens that are not special are recognised. Thread-safe.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  // Plain text that goes on with other text, such as the second sentence of a document: no space is
  // put before it where the tokenizer puts one before any text. So what is cut before white space
  // has the ids of the whole, as far as no word nor what the tokenizer makes of characters lies
  // across the cut. Thread-safe.
  virtual std::vector<int32_t> encode_within(std::string_view text) const { return encode(text); }
  // The same, with special tokens recognised where their text occurs, the leftmost first and the
  // longest there. For text that is trusted. Thread-safe.
  virtual std::vector<int32_t> encode_specials(std::string_view text) const;
  // One text or two, with the special tokens around them that the tokenizer's template asks for;
  // types without one are 0 and 1.
  virtual TemplatedIds with_template(const std::vector<int32_t>& first,
                                     const std::vector<int32_t>* second = nullptr) const;
  // Texts and ids, by rising id.
  virtual std::vector<std::pair<std::string, int32_t>> special_tokens() const;
  // The id of a special token, or of a token as vocabularies spell it (bytes in GPT-2's alphabet,
  // "##" before what goes on with a word); -1 if there is none.
  virtual int32_t id_of(std::string_view token) const;
  virtual TokenRoles roles() const { return {.eos = end_of_text()}; }
  // Whether a word begins with this id, for masks of whole words; special tokens are words of their
  // own. Byte-level: the token begins with white space; WordPiece: it has no continuation prefix.
  virtual bool begins_word(int32_t id) const;
  // The bytes of one id; "" for special tokens and ids without a token. WordPiece: the piece
  // without its prefix, after a space where it begins a word. A usage error for an id outside [0,
  // vocab_size).
  virtual std::string_view bytes_of(int32_t id) const = 0;
  // All that is needed to make it again; stable, so equal tokenizers have equal JSON.
  virtual std::string to_json() const = 0;

  // Special tokens are left out, or written as their text. WordPiece: without the space at the
  // beginning.
  virtual std::string decode(const std::vector<int32_t>& ids, bool skip_special = true) const;
};

// Ids that a tokenizer's template puts before and behind a single text.
struct TextFrame {
  std::vector<int32_t> before, after;
};
// A usage error for a template that leaves out the text.
TextFrame text_frame(const Tokenizer& tokenizer);

// 256 byte ids, then end-of-text = 256.
std::unique_ptr<Tokenizer> byte_tokenizer();

// merges: pairs of ids in order of rank; ids 0-255 are bytes in GPT-2's order of its alphabet, id
// 256 + k is the k-th merge, the last id is end-of-text.
std::unique_ptr<Tokenizer> bpe_tokenizer(std::vector<std::pair<int32_t, int32_t>> merges);

// From to_json()'s text, or that of a tokenizer.json of Hugging Face. A usage error naming what is
// missing, wrong or not supported; whatever the text, it is never more than that, and memory is
// bounded by the size of the text.
std::unique_ptr<Tokenizer> tokenizer_from_json(const std::string& json);

// A tokenizer as checkpoints and token stores keep it: its JSON, which stays as it is stored, or ""
// where they know none. The value is what tokenizer_from_json makes of it, with its errors.
class StoredTokenizer : public StoredText<Tokenizer> {
 public:
  StoredTokenizer() : StoredTokenizer(std::string()) {}
  explicit StoredTokenizer(std::string json);
  // Its JSON is what to_json() says.
  explicit StoredTokenizer(std::shared_ptr<const Tokenizer> tokenizer);
};

// Whether both are one tokenizer, however they are written. Texts that are none are so only when
// they are equal.
bool same_tokenizer(const StoredTokenizer& left, const StoredTokenizer& right);

// "bytes" names the byte tokenizer. Else a file of the above, or a SentencePiece model; or a folder
// that holds tokenizer.json, vocab.json and merges.txt, vocab.txt, or a SentencePiece model (looked
// for in this order), or one of those files.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);

}  // namespace skein::text
