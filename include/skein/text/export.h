// A tokenizer as files that the libraries `tokenizers` and `transformers` read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "skein/text/tokenizer.h"

namespace skein::text {

// Names and contents: tokenizer.json, tokenizer_config.json, special_tokens_map.json, and
// vocab.json with merges.txt, vocab.txt or tokenizer.model (of SentencePiece: as it was, or made of
// a Unigram tokenizer that it can express), whichever suits. tokenizer_from_json of the first gives
// a tokenizer with the same ids. A usage error for byte-level BPE two of whose tokens have the same
// bytes, which those files cannot express.
std::vector<std::pair<std::string, std::string>> tokenizer_files(const Tokenizer& tokenizer);

}  // namespace skein::text
