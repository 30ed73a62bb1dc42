// A tokenizer from a `.model` file of SentencePiece, with its ids. It is kept as
//
//   {"type":"sentencepiece","version":1,"extra":["<extra_id_0>"],"begin":false,"end":true,
//    "vocab":[],"file":"..."}
//
// with the file as it was in base64.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/core/json.h"
#include "skein/text/tokenizer.h"

namespace skein::text {

// What a file does not say.
struct SentencePieceUse {
  std::vector<std::string> extra;   // special tokens behind its ids
  bool begin = false, end = false;  // whether samples begin and end with its <s> and </s>
  // Other ids than the file's: the tokens by their ids ("" for none), as Marian's vocab.json has
  // them. Special are </s>, <pad>, <unk> and names of languages (">>de<<"). Not beside `extra`.
  std::vector<std::string> vocabulary;
};

// A usage error naming `where` for bytes that are no such file, or that lack what is asked for.
std::unique_ptr<Tokenizer> sentencepiece_tokenizer(const std::string& bytes,
                                                   const SentencePieceUse& use,
                                                   const std::string& where);
// Of the JSON above.
std::unique_ptr<Tokenizer> sentencepiece_from_json(const nlohmann::json& json);
// The bytes of the file in the JSON above.
std::string sentencepiece_file(const nlohmann::json& json);

// A tokenizer.json that gives the same ids, as nearly as that form can: it breaks ties of merges
// in another order, and looks for what the user defined before text is normalised.
nlohmann::json hugging_face_form(const nlohmann::json& json);

// The step of a tokenizer.json that puts `by` for a `what`, which is a "String" or a "Regex".
nlohmann::json replacement_json(const char* kind, const char* what, const char* by);

// A tokenizer.json of Unigram as a `.model` file; "" for one that such a file cannot express.
std::string written_pieces(const nlohmann::json& hugging_face);

}  // namespace skein::text
