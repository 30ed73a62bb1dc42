#include "skein/generate/answer_text.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"

namespace skein::generate {
namespace {

// A token is a byte; 0 is a special one, which says nothing.
std::string said(const Tokens& tokens) {
  std::string text;
  for (int32_t token : tokens)
    if (token != 0) text += static_cast<char>(token);
  return text;
}

Tokens tokens_of(const std::string& text) {
  Tokens made;
  for (unsigned char byte : text) made.push_back(byte);
  return made;
}

TEST(StopTexts, CutBeforeTheFirstOne) {
  const StopTexts stops({"\\n\\n", "END", "a\\x2c b", "\\\\"});
  EXPECT_EQ(stops.cut("one\n\ntwo END"), "one");
  EXPECT_EQ(stops.cut("oneEND\n\n"), "one");
  EXPECT_EQ(stops.cut("aa, b"), "a");
  EXPECT_EQ(stops.cut("a\\b"), "a");
  EXPECT_EQ(stops.cut("one\ntwo"), std::nullopt);
  EXPECT_FALSE(StopTexts({}).any());
  EXPECT_EQ(StopTexts({}).cut("x"), std::nullopt);
}

TEST(StopTexts, LeaveTheTokensBeforeThem) {
  EXPECT_EQ(tokens_saying("one", tokens_of("one\n\ntwo"), said), tokens_of("one"));
  EXPECT_EQ(tokens_saying("one \n", tokens_of("one \nEND"), said), tokens_of("one"));
  EXPECT_EQ(tokens_saying("", tokens_of("END"), said), Tokens{});
  EXPECT_EQ(tokens_saying("one", {}, said), Tokens{});
  const auto in_pairs = [](const Tokens& tokens) {
    std::string text;
    for (int32_t token : tokens) text += std::string(2, static_cast<char>(token));
    return text;
  };
  EXPECT_EQ(tokens_saying("aab", {'a', 'b', 'c'}, in_pairs), (Tokens{'a', 'b'}))
      << "a token says the end of the text and the beginning of what stops it";
}

TEST(StopTexts, AreFoundWithTheTokenThatEndsThem) {
  const StopTexts stops({"END"});
  EXPECT_FALSE(stops.ends({}, said));
  EXPECT_FALSE(stops.ends(tokens_of("some text EN"), said));
  EXPECT_TRUE(stops.ends(tokens_of("some text END"), said));
  Tokens apart = tokens_of("text E");
  apart.insert(apart.end(), 100, 0);  // special tokens between its bytes
  for (char byte : {'N', 'D'}) apart.push_back(byte);
  EXPECT_TRUE(stops.ends(apart, said));
  EXPECT_FALSE(StopTexts({}).ends(tokens_of("END"), said));
}

TEST(StopTexts, AreWrittenWithCommasAndWithoutBlanks) {
  EXPECT_EQ(stops_in("a b,\\x20o,\\n"), (std::vector<std::string>{"a b", "\\x20o", "\\n"}));
  EXPECT_TRUE(stops_in("").empty());
  EXPECT_EQ(stops_in("a,,b,"), (std::vector<std::string>{"a", "", "b", ""}));
  for (const char* wrong : {"and , o", "a, o", "o\n"})
    EXPECT_NE(refusal_of([&] { stops_in(wrong); }).find("write \\x20 where the text has it"),
              std::string::npos)
        << wrong;
}

TEST(StopTexts, RefuseWhatTheyCannotRead) {
  const auto refused = [](const std::string& text) {
    return refusal_of([&] { StopTexts stops({text}); });
  };
  EXPECT_NE(refused("").find("empty text"), std::string::npos);
  for (const char* bad : {"a\\", "\\q", "\\x2", "\\xg0", "\\x 2"})
    EXPECT_NE(refused(bad).find(std::string("holds '") + bad), std::string::npos) << refused(bad);
}

// Of each beginning of the text, what is shown when it has come so far.
std::vector<std::string> shown(const StopTexts& stops, const std::string& text) {
  AnswerStream stream(stops);
  std::vector<std::string> made;
  for (size_t length = 1; length <= text.size(); ++length)
    made.push_back(stream.next(text.substr(0, length)));
  made.push_back(stream.rest(text));
  return made;
}

TEST(AnswerStream, ShowsNoPartOfACharacterNorOfAStopText) {
  const StopTexts stops({"###"});
  using Parts = std::vector<std::string>;
  EXPECT_EQ(shown(stops, "a#b##"), (Parts{"a", "", "#b", "", "", "##"}));
  EXPECT_EQ(shown(stops, "\u00e9!"), (Parts{"", "\u00e9", "!", ""}));
  EXPECT_EQ(shown(StopTexts({}),
                  "\xff"
                  "abcd"),
            (Parts{"", "", "",
                   "\xff"
                   "abc",
                   "d", ""}))
      << "bytes that will be no text are shown once that is certain";
}

}  // namespace
}  // namespace skein::generate
