// A tokenizer of Hugging Face's making: added tokens are found, the rest is normalised, divided
// into words, and each word turned into ids by a model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/text/tokenizer.h"

#include "added_tokens.h"
#include "text/models/token_decoder.h"
#include "text/models/word_model.h"
#include "text/split/normalize.h"
#include "text/split/splits.h"

namespace skein::text {

struct TemplateItem {
  enum class Kind { first, second, token };
  Kind kind;
  int32_t id = -1;  // of kind token
  int32_t type = 0;
};
using Template = std::vector<TemplateItem>;

struct ImportedParts {
  std::vector<AddedToken> added;  // by rising id
  std::vector<NormalizerStep> normalizer;
  std::vector<SplitStep> splits;
  Template single, pair;
  bool joins_words = false;    // decoding puts spaces between words, as for WordPiece
  bool tidies_spaces = false;  // and takes them away before punctuation
  bool decodes_bytes = false;  // the decoder is ByteLevel
  std::shared_ptr<const TokenDecoder> decoder;  // null: the bytes of the tokens, as said above
  std::unique_ptr<WordModel> model;
  // the members of tokenizer.json before "model", with the brace that opens it
  std::string json_head;
  std::string json;  // instead of all that, where the tokenizer is kept in another form
};

std::unique_ptr<Tokenizer> imported_tokenizer(ImportedParts parts);

}  // namespace skein::text
