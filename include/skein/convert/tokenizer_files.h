// Tokenizers as Hugging Face folders hold them.
#pragma once

#include <map>
#include <string>

namespace skein {

// The files of a tokenizer, by name, of its JSON as checkpoints hold it; none for "". Our own
// byte-level BPE becomes a tokenizer.json that gives the same ids. types: whether the model is told
// apart the texts of a pair, so that transformers hands token_type_ids to models that have types,
// and to no other.
std::map<std::string, std::string> tokenizer_files(const std::string& tokenizer, bool types);

}  // namespace skein
