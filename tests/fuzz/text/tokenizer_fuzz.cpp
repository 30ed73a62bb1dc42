// Tokenizer files; what is read must come back from its own JSON and encode without loss.
#include "skein/text/tokenizer.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  const auto tokenizer = skein::text::tokenizer_from_json(std::string(input));
  const std::string json = tokenizer->to_json();
  if (skein::text::tokenizer_from_json(json)->to_json() != json) std::abort();
  const std::string text("The cat, it's 42\n\xff \xe3\x80\x82");
  for (const int32_t id : tokenizer->encode(text))
    if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
  for (int32_t id = 0; id < tokenizer->vocab_size() && id < 1000; ++id) tokenizer->bytes_of(id);
}
