#include "skein/text/split/split.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "skein/text/split/split_pattern.h"

namespace skein::text {
namespace {

using Pieces = std::vector<std::string>;

Pieces split(const std::string& text) {
  Pieces pieces;
  split_gpt2(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

const char* const kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const char* const kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char* const kDeepSeek =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The pieces of a pattern as the library of regular expressions finds them, which the reference
// runs.
Pieces pieces_of(const SplitPattern& pattern, const std::string& text) {
  Pieces pieces;
  pattern.divide(text, [&](std::string_view piece, bool) { pieces.emplace_back(piece); });
  return pieces;
}

const Pieces kNasty = {
    "'",      "'",      "s",          "t",         "re",     "ve",
    "m",      "ll",     "d",          "\u017f",    "/",      "\u0e2d",
    "S",      "LL",     " ",          " ",         "  ",     "\n",
    "\r\n",   "\t",     "\v",         "a",         "Zz",     "1",
    "42",     "!",      "_",          "-",         "\x1c",   std::string(1, '\0'),
    "\u00e9", "\u4e2d", "\u00df",     "\u01c5",    "\u02b0", "\u0663",
    "\u2167", "\u00bd", "\u00b2",     "\u0301",    "\u093f", "\u0915",
    "\u2026", "\u20ac", "\U0001F600", "\u00a0",    "\u0085", "\u2003",
    "\u200a", "\u2028", "\u2029",     "\u202f",    "\u205f", "\u3000",
    "\u1680", "\u200b", "\ufeff",     "\U00010400"};

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
  EXPECT_EQ(split("I'll we've 'tis IT'S"),
            (Pieces{"I", "'ll", " we", "'ve", " '", "tis", " IT", "'", "S"}));
  EXPECT_EQ(split("'r'l'"), (Pieces{"'", "r", "'", "l", "'"}));
}

TEST(Split, NumbersOfAllKindsApartFromLetters) {
  EXPECT_EQ(split("a1\u00bd\u2167 23"), (Pieces{"a", "1\u00bd\u2167", " 23"}));
}

TEST(Split, MarksAreNoLetters) {
  EXPECT_EQ(split("\u0915\u093f\u0915"), (Pieces{"\u0915", "\u093f", "\u0915"}));
}

TEST(Split, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(split("a\u3000b\u0085c\u200bd"),
            (Pieces{"a", "\u3000", "b", "\u0085", "c", "\u200b", "d"}));
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

template <class Scan>
void expect_same_pieces(const char* expression, Scan&& scan) {
  const SplitPattern pattern(expression);
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    const std::string text = nasty_text(random, 1 + static_cast<int>(random() % 24));
    Pieces pieces;
    scan(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
    ASSERT_EQ(pieces, pieces_of(pattern, text)) << testing::PrintToString(text);
  }
}

TEST(Split, AgreesWithThePublishedPattern) {
  expect_same_pieces(kGpt2, [](auto text, auto piece) { split_gpt2(text, piece); });
}

TEST(Split, AgreesWithThePatternOfLlama3) {
  expect_same_pieces(kLlama3, [](auto text, auto piece) {
    split_ends(
        text, [](auto whole, size_t begin) { return llama3_piece_end(whole, begin, 3); }, piece);
  });
}

TEST(Split, AgreesWithThePatternOfQwen2) {
  expect_same_pieces(kQwen2, [](auto text, auto piece) {
    split_ends(
        text, [](auto whole, size_t begin) { return llama3_piece_end(whole, begin, 1); }, piece);
  });
}

TEST(Split, AgreesWithThePatternOfO200k) {
  expect_same_pieces(kO200k,
                     [](auto text, auto piece) { split_ends(text, o200k_piece_end, piece); });
}

TEST(Split, AgreesWithThePatternOfDeepSeek) {
  expect_same_pieces(kDeepSeek,
                     [](auto text, auto piece) { split_matches(text, deepseek_match_end, piece); });
}

TEST(Split, AgreesWithThePatternOfNumbers) {
  expect_same_pieces("\\p{N}{1,3}", [](auto text, auto piece) {
    split_matches(
        text, [](auto whole, size_t begin) { return numbers_end(whole, begin, 3); }, piece);
  });
  expect_same_pieces("\\p{N}", [](auto text, auto piece) {
    split_matches(
        text, [](auto whole, size_t begin) { return numbers_end(whole, begin, 1); }, piece);
  });
}

std::string utf8(int32_t point) {
  std::string text;
  if (point < 0x80) return std::string(1, static_cast<char>(point));
  if (point >= 0x10000) text += static_cast<char>(0xF0 | point >> 18);
  if (point >= 0x800)
    text +=
        static_cast<char>((point >= 0x10000 ? 0x80 | (point >> 12 & 0x3F) : 0xE0 | point >> 12));
  text += static_cast<char>(point >= 0x800 ? 0x80 | (point >> 6 & 0x3F) : 0xC0 | point >> 6);
  return text + static_cast<char>(0x80 | (point & 0x3F));
}

// Of the characters that a pattern matches alone, those that the scanners' tables have not, and the
// other way round; characters that the library's older tables do not have yet are passed over.
TEST(Split, ScannersAndLibraryHaveTheSameCharacters) {
  const SplitPattern assigned("\\p{^Cn}");
  for (const char* expression : {kGpt2, kO200k, kDeepSeek}) {
    const SplitPattern pattern(expression);
    for (int32_t point = 1; point < 0x32000; ++point) {
      if (point >= 0xD800 && point < 0xE000) continue;
      bool known = false;
      assigned.divide(utf8(point), [&](std::string_view, bool matched) { known = matched; });
      if (!known) continue;
      const std::string text = fmt::format("a{0}A{0}1{0}!", utf8(point));
      Pieces pieces;
      const auto piece = [&](std::string_view part) { pieces.emplace_back(part); };
      if (expression == kGpt2) split_gpt2(text, piece);
      if (expression == kO200k) split_ends(text, o200k_piece_end, piece);
      if (expression == kDeepSeek) split_matches(text, deepseek_match_end, piece);
      ASSERT_EQ(pieces, pieces_of(pattern, text))
          << fmt::format("U+{:04X} by {}", point, expression);
    }
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

TEST(Split, CuttingAtASafeIndexChangesNoPiece) {
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
}  // namespace skein::text
