// Tokenizers as Hugging Face folders hold them.
#pragma once

#include <map>
#include <string>

#include "skein/text/tokenizer.h"

namespace skein::convert {

// The files of a checkpoint's tokenizer, by name; none where it has none. Our own
// byte-level BPE becomes a tokenizer.json that gives the same ids. types: whether the model is told
// apart the texts of a pair, so that transformers hands token_type_ids to models that have types,
// and to no other.
std::map<std::string, std::string> tokenizer_files(const text::StoredTokenizer& tokenizer,
                                                   bool types);

// Gives such files a chat template in Jinja, as transformers keeps it (chat_template.jinja), in the
// place of any that they had.
void put_chat_template(const std::string& jinja, std::map<std::string, std::string>& files);

}  // namespace skein::convert
