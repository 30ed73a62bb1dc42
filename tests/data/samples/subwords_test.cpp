#include "skein/data/samples/subwords.h"

#include <algorithm>

#include "skein/text/sentencepiece/model_file.h"
#include "skein/text/train_tokenizer.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Ids = std::vector<int32_t>;

// White space is dropped, letters up to 'm' are their own ids, all others unknown to it.
class FirstLetters final : public text::Tokenizer {
 public:
  explicit FirstLetters(int32_t unknown) : unknown_(unknown) {}
  int64_t vocab_size() const override { return 128; }
  int32_t end_of_text() const override { return -1; }
  Ids encode(std::string_view text) const override {
    Ids ids;
    std::copy_if(text.begin(), text.end(), std::back_inserter(ids),
                 [](char c) { return c >= 'a' && c <= 'm'; });
    return ids;
  }
  text::TokenRoles roles() const override { return {.unk = unknown_}; }
  std::string_view bytes_of(int32_t) const override { return ""; }
  std::string to_json() const override { return ""; }

 private:
  int32_t unknown_;
};

TEST(Subwords, BeginWhereTheirWordsDo) {
  const std::vector<std::string> words{"abc", "d", "zzz", "ef"};
  const Subwords subwords = encode_words(FirstLetters(1), words, 100);
  EXPECT_EQ(subwords.ids, (Ids{'a', 'b', 'c', 'd', 1, 'e', 'f'}));
  EXPECT_EQ(subwords.begin, (std::vector<int64_t>{0, 3, 4, 5, 7}));
  EXPECT_EQ(subwords.words(), 4);
}

TEST(Subwords, ByteLevelWordsFollowASpace) {
  // " a" is one token of this BPE: the space's id is 220 in GPT-2's order of bytes, a's 64.
  const auto tokenizer = text::bpe_tokenizer({{220, 64}});
  const std::vector<std::string> words{"a", "ba", "\xFF"};
  const Subwords subwords = encode_words(*tokenizer, words, 100);
  EXPECT_EQ(subwords.begin, (std::vector<int64_t>{0, 1, 4, 6}));
  EXPECT_EQ(subwords.ids[0], 256);
  EXPECT_EQ(tokenizer->decode(subwords.ids), " a ba \xFF");
  EXPECT_EQ(subwords.ids, tokenizer->encode(" a ba \xFF"));
}

// These put a space before any text themselves.
TEST(Subwords, WordsOfUnigramAndSentencePieceBeginWithTheirSpace) {
  const std::vector<std::string> words{"ab", "a"};
  text::TokenizerTrainer trainer({.kind = text::LearntKind::unigram, .vocab_size = 300});
  for (int i = 0; i < 20; ++i) trainer.count("ab a ab b");
  const auto unigram = trainer.train();
  const Scratch scratch;
  text::SentencePieceModel model;
  model.pieces = {{"<unk>", 0, text::SentencePieceModel::Type::unknown},
                  {"\u2581a", -1},
                  {"\u2581", -3},
                  {"b", -2}};
  model.unknown = 0;
  for (const bool tidy : {false, true}) {
    model.remove_extra_whitespaces = tidy;
    write_file(scratch.file("small.model"), text::written_sentencepiece(model));
    const auto pieces = text::load_tokenizer(scratch.file("small.model"));
    EXPECT_EQ(encode_words(*pieces, words, 100).ids, (Ids{1, 3, 1})) << tidy;
  }
  const Subwords subwords = encode_words(*unigram, words, 100);
  EXPECT_EQ(subwords.ids, unigram->encode("ab a"));
  EXPECT_EQ(unigram->bytes_of(subwords.ids[subwords.begin[1]]), " a");
}

TEST(Subwords, CutOffWordsAreLeftOut) {
  const std::vector<std::string> words{"ab", "cde", "f"};
  const FirstLetters tokenizer(1);
  EXPECT_EQ(encode_words(tokenizer, words, 6).words(), 3);
  EXPECT_EQ(encode_words(tokenizer, words, 5).words(), 2);
  const Subwords inside = encode_words(tokenizer, words, 3);
  EXPECT_EQ(inside.ids, (Ids{'a', 'b', 'c'}));
  EXPECT_EQ(inside.begin, (std::vector<int64_t>{0, 2, 3}));
  EXPECT_EQ(encode_words(tokenizer, words, 2).words(), 1);
  EXPECT_EQ(encode_words(tokenizer, std::vector<std::string>{std::string(1000, 'a')}, 4).ids.size(),
            4u);
  EXPECT_EQ(encode_words(tokenizer, {}, 4).words(), 0);
}

TEST(Subwords, AWordWithoutTokensNeedsAnUnknownToken) {
  const std::vector<std::string> words{"zz"};
  expect_error(ExitCode::usage, {"\"zz\"", "unknown"},
               [&] { encode_words(FirstLetters(-1), words, 4); });
}

}  // namespace
}  // namespace skein::data
