#include "skein/data/samples/token_kinds.h"

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {

TokenKinds::TokenKinds(const text::Tokenizer& tokenizer, const std::string& origin) {
  for (int64_t i = 0; i < tokenizer.vocab_size(); ++i) {
    const int32_t id = narrow<int32_t>(i);
    const bool special = tokenizer.bytes_of(id).empty();
    kinds_.push_back(special                     ? Kind::special
                     : tokenizer.begins_word(id) ? Kind::begins
                                                 : Kind::goes_on);
    if (!special) ordinary_.push_back(id);
  }
  require(!ordinary_.empty(), "the tokenizer of {} has special tokens only", origin);
}

}  // namespace skein::data
