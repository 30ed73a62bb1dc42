#include "skein/text/sentences.h"

#include <gtest/gtest.h>
#include <string>

#include "skein/text/tokenizer.h"

namespace skein::text {
namespace {

using Parts = std::vector<std::string>;

Parts parts_of(std::string_view text, SentenceRule rule = SentenceRule::automatic) {
  Parts parts;
  size_t begin = 0;
  for (const size_t end : sentence_ends(text, rule)) {
    EXPECT_GT(end, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size());
  return parts;
}

// Whether `text`, a single sentence to the reader, is one to the splitter.
void expect_whole(const std::string& text) { EXPECT_EQ(parts_of(text), Parts{text}); }

TEST(Sentences, EndAtStopsBeforeUpperCase) {
  EXPECT_EQ(parts_of("It rained. We left! Why? Nobody knows."),
            (Parts{"It rained.", " We left!", " Why?", " Nobody knows."}));
  EXPECT_EQ(parts_of("Wait... What?! No… Yes.\nAgain. 12 men came."),
            (Parts{"Wait...", " What?!", " No…", " Yes.", "\nAgain.", " 12 men came."}));
  EXPECT_EQ(parts_of("Все ушли. Он остался."), (Parts{"Все ушли.", " Он остался."}));
  EXPECT_EQ(parts_of("हाँ। नहीं।"), (Parts{"हाँ।", " नहीं।"}));
}

TEST(Sentences, KeepTheirClosingQuotesAndBrackets) {
  EXPECT_EQ(parts_of("\"Go!\" She went. (He stayed.) “Did he?” ‘Yes.’"),
            (Parts{"\"Go!\"", " She went.", " (He stayed.)", " “Did he?”", " ‘Yes.’"}));
  expect_whole("\"Go!\" she said, and went.");
  EXPECT_EQ(parts_of("It was _his._ Truly."), (Parts{"It was _his._", " Truly."}));
}

TEST(Sentences, DoNotEndAfterAbbreviations) {
  for (const char* text :
       {"Mr. Smith met Mrs. Jones.", "Dr. Who lives in St. Ives.",
        "Use tools, e.g. Hammers or i.e. Nails.", "By J. R. R. Tolkien and (T. Eliot).",
        "In the U.S. Army.", "See vol. 3, No. 7 and Fig. 12.", "On Jan. 5 it ended.",
        "At 3.5 or 1.2.3 it stops.", "so on... and on. then more.", "cf. Plato vs. Aristotle",
        "Ö. Müller came."})
    expect_whole(text);
}

TEST(Sentences, EndAfterWhatOnlyLooksLikeAnAbbreviation) {
  EXPECT_EQ(parts_of("She said no. He didn't. So it was I. Then all left at 5 p.m. The end."),
            (Parts{"She said no.", " He didn't.", " So it was I.", " Then all left at 5 p.m.",
                   " The end."}));
  EXPECT_EQ(parts_of("Go to Fig. The rest is silence!! J. Doe"),
            (Parts{"Go to Fig.", " The rest is silence!!", " J. Doe"}));
}

TEST(Sentences, EndAtBlankLines) {
  EXPECT_EQ(parts_of("CHAPTER ONE\n\nit was late\nand dark\r\n\r\nand cold"),
            (Parts{"CHAPTER ONE", "\n\nit was late\nand dark", "\r\n\r\nand cold"}));
  EXPECT_EQ(parts_of("\n\n One. \n\n Two.\n\n"), (Parts{"\n\n One.", " \n\n Two.\n\n"}));
}

TEST(Sentences, ChineseAndJapaneseNeedNoSpace) {
  EXPECT_EQ(parts_of("你好。我走了！「真的？」是的。"),
            (Parts{"你好。", "我走了！", "「真的？」", "是的。"}));
  EXPECT_EQ(parts_of("終わり。　次。\u3000"), (Parts{"終わり。", "　次。\u3000"}));
}

TEST(Sentences, LinesAreSentencesUnderTheirRule) {
  EXPECT_EQ(parts_of("One. Two\n\n  three  \nfour\n", SentenceRule::lines),
            (Parts{"One. Two", "\n\n  three", "  \nfour\n"}));
  EXPECT_EQ(parts_of("a\nb", SentenceRule::none), Parts{"a\nb"});
}

TEST(Sentences, OddTextsAreSafe) {
  EXPECT_TRUE(sentence_ends("", SentenceRule::automatic).empty());
  EXPECT_TRUE(sentence_ends("", SentenceRule::none).empty());
  EXPECT_EQ(parts_of(" \n\n \n"), Parts{" \n\n \n"});
  EXPECT_EQ(parts_of(". A"), (Parts{".", " A"}));
  EXPECT_EQ(parts_of("\xff. \xe2\x80 B\xe2"), Parts{"\xff. \xe2\x80 B\xe2"});
  for (int length = 1; length <= 4; ++length)
    for (int code = 0; code < 4096; ++code) {
      std::string text;
      for (int i = 0; i < length; ++i) text += "A. \n\"\xe3\x80\x82"[(code >> 3 * i) & 7];
      parts_of(text);
    }
}

TEST(Sentences, TokensOfBytePairsStayThoseOfTheWhole) {
  const auto tokenizer = bpe_tokenizer({{13, 13}, {220, 32}, {198, 198}});
  const std::string text = "A.. B... \"C!!\" D\n\nE. \n\n\nF.  G\t\tH.\tI.";
  std::vector<int32_t> ids;
  for (const std::string& part : parts_of(text)) {
    const auto more = tokenizer->encode(part);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  EXPECT_EQ(ids, tokenizer->encode(text));
}

TEST(Sentences, LastEndLooksAtTheTailOnly) {
  EXPECT_EQ(last_sentence_end("One. Two. Three", SentenceRule::automatic), 9u);
  EXPECT_EQ(last_sentence_end("One, two", SentenceRule::automatic), 0u);
  EXPECT_EQ(last_sentence_end("", SentenceRule::lines), 0u);
  const std::string far = "One. " + std::string(size_t{70} << 10, 'x');
  EXPECT_EQ(last_sentence_end(far, SentenceRule::automatic), 0u);
  EXPECT_EQ(last_sentence_end(far + "\ny", SentenceRule::lines), far.size());
}

}  // namespace
}  // namespace skein::text
