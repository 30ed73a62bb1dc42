// What stands around the models of Unigram that are learnt here, in tokenizer.json: a mark (U+2581)
// for each space and one before the text, words that begin at marks, line breaks apart.
#pragma once

#include "skein/core/json.h"

namespace skein::text {

// The members "normalizer", "pre_tokenizer" and "decoder". compatible: text comes in Unicode's
// form NFKC, with one space for each run of white space and none at the ends; else all of it comes
// back from its ids.
nlohmann::json unigram_form(bool compatible, bool byte_fallback);

}  // namespace skein::text
