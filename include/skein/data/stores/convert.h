// Token files from one program's format to another's, in bounded memory but for where documents and
// sentences begin.
#pragma once

#include <string>
#include <vector>

#include "skein/data/stores/store.h"

namespace skein::data {

// The files that convert_tokens writes. A usage error when `output` cannot be the name of such a
// file.
std::vector<std::string> converted_files(const std::string& output, TokenFormat format);

// Writes the tokens of `from`, with its documents and sentences where the format has them, and
// returns what was written. They stand under their names only when they are whole; files that are
// there already are replaced unless `existing` refuses. Megatron-LM's have a sequence for each
// sentence, or document where sentences are unknown, and are u16 for vocabularies below 65,500 ids,
// else i32; llm.c's are u16 up to 65,536 ids, else u32. Beside files of other programs
// NAME.meta.json keeps the tokenizer. nanoGPT and llm.c know documents by end_of_text alone: a
// warning when those come back otherwise. A usage error when a token (nanoGPT: up to 65,535) or
// the number of tokens (llm.c, and each sequence of Megatron-LM: below 2^31) does not fit, and for
// a native store when the vocabulary is unknown.
StoreInfo convert_tokens(const TokenStore& from, const std::string& output, TokenFormat format,
                         ExistingFile existing = ExistingFile::replace);

}  // namespace skein::data
