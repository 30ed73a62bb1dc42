// Models of SentencePiece; what is read must come back from its own JSON, and its ids must be its
// own.
#include "skein/text/export.h"
#include "skein/text/tokenizer.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile file("fuzz.model");
  file.write(input);
  const auto tokenizer = skein::text::load_tokenizer(file.path());
  const std::string json = tokenizer->to_json();
  if (skein::text::tokenizer_from_json(json)->to_json() != json) std::abort();
  const std::string text("  The cat,\tit's 42\n\xff \xe3\x80\x82\xef\xbc\xa1 a");
  const auto ids = tokenizer->encode(text);
  for (const int32_t id : ids)
    if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
  tokenizer->decode(ids);
  tokenizer_files(*tokenizer);
}
