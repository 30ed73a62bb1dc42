#include "skein/text/split.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <gtest/gtest.h>
#include <memory>
#include <pcre2.h>
#include <random>
#include <string>
#include <vector>

namespace skein {
namespace {

using Pieces = std::vector<std::string>;

Pieces split(const std::string& text) {
  Pieces pieces;
  split_gpt2(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

const char* const kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// A published pattern, run by a regular expression library with the Unicode properties switched on.
class Pattern {
 public:
  explicit Pattern(const char* text = kGpt2) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text), PCRE2_ZERO_TERMINATED,
                              PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
    match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

  Pieces split(const std::string& text) const {
    Pieces pieces;
    for (size_t begin = 0; begin < text.size();) {
      const int count = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                    begin, 0, match_.get(), nullptr);
      const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match_.get());
      if (count < 1 || bounds[0] != begin || bounds[1] == begin)
        return {"no match at " + std::to_string(begin)};
      pieces.push_back(text.substr(begin, bounds[1] - begin));
      begin = bounds[1];
    }
    return pieces;
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> match_;
};

const Pieces kNasty = {"'",         "'",      "s",
                       "t",         "re",     "ve",
                       "m",         "ll",     "d",
                       "S",         "LL",     " ",
                       " ",         "  ",     "\n",
                       "\r\n",      "\t",     "\v",
                       "a",         "Zz",     "1",
                       "42",        "!",      "_",
                       "-",         "\x1c",   std::string(1, '\0'),
                       "\u00e9",    "\u4e2d", "\u00df",
                       "\u01c5",    "\u02b0", "\u0663",
                       "\u2167",    "\u00bd", "\u00b2",
                       "\u0301",    "\u093f", "\u0915",
                       "\u2026",    "\u20ac", "\U0001F600",
                       "\u00a0",    "\u0085", "\u2003",
                       "\u200a",    "\u2028", "\u2029",
                       "\u202f",    "\u205f", "\u3000",
                       "\u1680",    "\u200b", "\ufeff",
                       "\U00010400"};

std::string nasty_text(std::mt19937& random, int parts) {
  std::string text;
  for (int i = 0; i < parts; ++i) text += kNasty[random() % kNasty.size()];
  return text;
}

TEST(Split, WordsTakeOneSpaceBeforeThem) {
  EXPECT_EQ(split("Hello  big\tworld "), (Pieces{"Hello", " ", " big", "\t", "world", " "}));
  EXPECT_EQ(split(" a"), (Pieces{" a"}));
  EXPECT_EQ(split(""), Pieces{});
}

TEST(Split, ContractionsAreLowerCaseOnly) {
  EXPECT_EQ(split("I'll we've 'tis IT'S"), (Pieces{"I", "'ll", " we", "'ve", " '", "tis", " IT", "'", "S"}));
  EXPECT_EQ(split("'r'l'"), (Pieces{"'", "r", "'", "l", "'"}));
}

TEST(Split, NumbersOfAllKindsApartFromLetters) {
  EXPECT_EQ(split("a1\u00bd\u2167 23"), (Pieces{"a", "1\u00bd\u2167", " 23"}));
}

TEST(Split, MarksAreNoLetters) {
  EXPECT_EQ(split("\u0915\u093f\u0915"), (Pieces{"\u0915", "\u093f", "\u0915"}));
}

TEST(Split, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(split("a\u3000b\u0085c\u200bd"), (Pieces{"a", "\u3000", "b", "\u0085", "c", "\u200b", "d"}));
  EXPECT_EQ(split("a\n\n b"), (Pieces{"a", "\n\n", " b"}));
  EXPECT_EQ(split("a\n\nb"), (Pieces{"a", "\n", "\n", "b"}));
  EXPECT_EQ(split("a \n"), (Pieces{"a", " \n"}));
}

TEST(Split, BytesThatAreNoUtf8CountAsSymbols) {
  EXPECT_EQ(split("a\xff\xfe!b"), (Pieces{"a", "\xff\xfe!", "b"}));
  EXPECT_EQ(split("a \xe4\xb8"), (Pieces{"a", " \xe4\xb8"}));
  EXPECT_EQ(split("\xed\xa0\x80z"), (Pieces{"\xed\xa0\x80", "z"}));
  EXPECT_EQ(split("\xc0\xaf"), (Pieces{"\xc0\xaf"}));
}

TEST(Split, AgreesWithThePublishedPattern) {
  const Pattern pattern;
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    const std::string text = nasty_text(random, 1 + static_cast<int>(random() % 24));
    ASSERT_EQ(split(text), pattern.split(text)) << testing::PrintToString(text);
  }
}

TEST(Split, AgreesWithThePatternOfLlama3) {
  const Pattern pattern(kLlama3);
  std::mt19937 random(8);
  for (int round = 0; round < 20000; ++round) {
    const std::string text =
        nasty_text(random, 1 + static_cast<int>(random() % 24)) + (round % 9 == 0 ? "'\u017f1234" : "");
    Pieces pieces;
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
      end = llama3_piece_end(text, begin, 3);
      pieces.push_back(text.substr(begin, end - begin));
    }
    ASSERT_EQ(pieces, pattern.split(text)) << testing::PrintToString(text);
  }
}

TEST(Split, PiecesEndToEndAreTheTextForAnyBytes) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 64, '\0'), joined;
    for (char& byte : text) byte = static_cast<char>(random());
    for (const auto& piece : split(text)) {
      ASSERT_FALSE(piece.empty());
      joined += piece;
    }
    ASSERT_EQ(joined, text);
  }
}

TEST(Split, CuttingAtASafePlaceChangesNoPiece) {
  std::mt19937 random(13);
  int cuts = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = nasty_text(random, 12), after = nasty_text(random, 3);
    const size_t cut = last_safe_cut(text);
    if (cut == 0) continue;
    ++cuts;
    Pieces parts = split(text.substr(0, cut));
    for (const auto& piece : split(text.substr(cut) + after)) parts.push_back(piece);
    ASSERT_EQ(parts, split(text + after)) << testing::PrintToString(text) << " cut at " << cut;
  }
  EXPECT_GT(cuts, 1000);
}

TEST(Split, ThereIsNoSafeCutWithoutASpaceBeforeAWord) {
  EXPECT_EQ(last_safe_cut(""), 0u);
  EXPECT_EQ(last_safe_cut("abc"), 0u);
  EXPECT_EQ(last_safe_cut(" abc"), 0u);
  EXPECT_EQ(last_safe_cut("abc "), 0u);
  EXPECT_EQ(last_safe_cut("ab cd ef"), 5u);
  EXPECT_EQ(last_safe_cut("ab cd  ef\ngh"), 2u);
  EXPECT_EQ(last_safe_cut("ab  cd"), 3u);
}

TEST(Split, CharacterCutsKeepCharactersWhole) {
  EXPECT_EQ(character_cut("ab\u4e2d", 9), 5u);
  EXPECT_EQ(character_cut("ab\u4e2d", 4), 2u);
  EXPECT_EQ(character_cut("ab\u4e2d", 2), 2u);
  EXPECT_EQ(character_cut("\x80\x80\x80\x80\x80\x80\x80", 6), 6u);
}

}  // namespace
}  // namespace skein
