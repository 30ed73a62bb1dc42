// Vocabularies of GPT-2 (vocab.json and merges.txt, divided by a line of "----") and of BERT
// (vocab.txt, where nothing divides).
#include "skein/text/tokenizer.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile vocab("vocab.json"), merges("merges.txt"), words("vocab.txt");
  const bool pieces = input.find("----\n") != input.npos;
  if (pieces) {
    vocab.write(skein::test::take_part(input));
    merges.write(input);
    words.remove();
  } else {
    words.write(input);
    vocab.remove();
    merges.remove();
  }
  const auto tokenizer = skein::text::load_tokenizer(pieces ? vocab.path() : words.path());
  if (skein::text::tokenizer_from_json(tokenizer->to_json())->to_json() != tokenizer->to_json())
    std::abort();
  for (const int32_t id : tokenizer->encode("The cat, it's 42\n\xff \xe3\x80\x82"))
    if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
}
