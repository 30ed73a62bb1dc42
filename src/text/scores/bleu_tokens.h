// sacrebleu's tokenizers for BLEU, each with mteval's rules in its order.
#pragma once

#include <string>
#include <string_view>

#include "skein/text/scores/metrics.h"

namespace skein::text {

// `text`, without white space at its end, as words with white space between them.
std::string bleu_tokens(std::string_view text, BleuTokenizer tokenizer);

// "13a", as signatures have it.
const char* name_of(BleuTokenizer tokenizer);

}  // namespace skein::text
