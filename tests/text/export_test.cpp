#include "skein/text/export.h"

#include <map>

#include "skein/text/train_bpe.h"
#include "skein/text/train_tokenizer.h"

#include "golden_files.h"

namespace skein::text {
namespace {

const char* const kText =
    "The cat sat on the mat; the hat on the cat.\n\tNaïve cafés, 12 of them! <|endoftext|> ";

std::unique_ptr<Tokenizer> learnt(TrainerSettings settings) {
  TokenizerTrainer trainer(std::move(settings));
  trainer.count(kText);
  return trainer.train();
}

// Every way to read the files gives the same ids.
void expect_same_ids(const Tokenizer& tokenizer, const std::string& vocabulary) {
  const test::Scratch scratch;
  for (const auto& [name, text] : tokenizer_files(tokenizer)) scratch.write(name, text);
  const auto whole = load_tokenizer(scratch.path()),
             parts = load_tokenizer(scratch.path() + "/" + vocabulary);
  for (const std::string& text :
       {std::string(kText), std::string("\xff\x00 x", 4), std::string("other words")}) {
    EXPECT_EQ(whole->encode(text), tokenizer.encode(text));
    EXPECT_EQ(parts->encode(text), tokenizer.encode(text));
    EXPECT_EQ(whole->encode_specials(text), tokenizer.encode_specials(text));
    EXPECT_EQ(whole->with_template(whole->encode(text)).ids,
              tokenizer.with_template(tokenizer.encode(text)).ids);
    EXPECT_EQ(parts->with_template(parts->encode(text)).ids,
              tokenizer.with_template(tokenizer.encode(text)).ids);
  }
  EXPECT_EQ(whole->end_of_text(), tokenizer.end_of_text());
  EXPECT_EQ(whole->vocab_size(), tokenizer.vocab_size());
}

TEST(Export, OwnKinds) {
  expect_same_ids(*byte_tokenizer(), "tokenizer.json");
  expect_same_ids(*learnt({.vocab_size = 280}), "merges.txt");
}

TEST(Export, LearntLikeTheReference) {
  expect_same_ids(
      *learnt({.vocab_size = 290, .special = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}}),
      "vocab.json");
  expect_same_ids(*learnt({.kind = LearntKind::wordpiece, .vocab_size = 80, .min_frequency = 1}),
                  "vocab.txt");
  expect_same_ids(*learnt({.kind = LearntKind::wordpiece,
                           .vocab_size = 80,
                           .min_frequency = 1,
                           .lowercase = false}),
                  "vocab.txt");
}

TEST(Export, TokensOfTheSameBytesAreRefused) {
  // aa = 256, then (aa)a and a(aa).
  const auto tokenizer = bpe_tokenizer({{64, 64}, {256, 64}, {64, 256}});
  test::expect_refused({"257", "258", "aaa"}, [&] { tokenizer_files(*tokenizer); });
}

TEST(Export, NamesRolesAndCase) {
  const auto files = tokenizer_files(
      *learnt({.kind = LearntKind::wordpiece, .vocab_size = 80, .lowercase = false}));
  std::map<std::string, std::string> texts(files.begin(), files.end());
  EXPECT_NE(texts["special_tokens_map.json"].find(R"("mask_token": "[MASK]")"), std::string::npos);
  EXPECT_NE(texts["tokenizer_config.json"].find(R"("do_lower_case": false)"), std::string::npos);
  EXPECT_EQ(files.size(), 4u);
}

}  // namespace
}  // namespace skein::text
