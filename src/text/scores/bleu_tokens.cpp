// Each rule of mteval is a pass over the whole text, and a pass goes on behind what it has changed:
// two rules at one place are not the same as one rule with two cases. The rules of 13a ask for
// ASCII alone and run over bytes; no byte of another character is taken for a digit or a sign.
#include "bleu_tokens.h"

#include "skein/core/error.h"

#include "python_text.h"
#include "text/split/unicode.h"

namespace skein::text {
namespace {

constexpr int32_t kBlank = ' ';

bool digit(char byte) { return byte >= '0' && byte <= '9'; }

bool stop(char byte) { return byte == '.' || byte == ','; }

// { to ~, [ to `, blank to &, ( to +, : to @ and /: not ' , - .
bool stands_apart(char byte) {
  return (byte >= '{' && byte <= '~') || (byte >= '[' && byte <= '`') ||
         (byte >= ' ' && byte <= '&') || (byte >= '(' && byte <= '+') ||
         (byte >= ':' && byte <= '@') || byte == '/';
}

// Blanks within and around each place of two characters that are such as these, from left to right.
template <class Text, class First, class Second>
Text parted(const Text& text, First&& first, Second&& second, bool before, bool after) {
  Text made;
  made.reserve(text.size() + text.size() / 4);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      made.push_back(text[i]);
      continue;
    }
    if (before) made.push_back(kBlank);
    made.push_back(text[i]);
    made.push_back(kBlank);
    made.push_back(text[++i]);
    if (after) made.push_back(kBlank);
  }
  return made;
}

// Blanks around each character that is such.
template <class Text, class Such>
Text set_apart(const Text& text, Such&& such) {
  Text made;
  made.reserve(text.size() + text.size() / 4);
  for (const auto character : text) {
    const bool apart = such(character);
    if (apart) made.push_back(kBlank);
    made.push_back(character);
    if (apart) made.push_back(kBlank);
  }
  return made;
}

std::string western(const std::string& text) {
  const auto no_digit = [](char byte) { return !digit(byte); };
  const auto dash = [](char byte) { return byte == '-'; };
  std::string made = set_apart(text, stands_apart);
  made = parted(made, no_digit, stop, false, true);
  made = parted(made, stop, no_digit, true, false);
  return parted(made, digit, dash, false, true);
}

std::string mteval_13a(std::string_view text) {
  std::string line(text);
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  return western(" " + line + " ");
}

std::string international(std::string_view text) {
  const auto no_number = [](int32_t point) { return !number(point); };
  Points points = points_of(text);
  points = parted(points, no_number, punctuation, false, true);
  points = parted(points, punctuation, no_number, true, false);
  return utf8_of(set_apart(points, symbol));
}

// The blocks that sacrebleu names, as they come out: it writes two planes beyond the first 65,536
// characters with four digits and a character of its own behind them, which makes a block of
// U+2001 to U+2A6D and leaves the planes out.
bool chinese_character(int32_t point) {
  static constexpr int32_t kBlocks[][2] = {
      {0x2001, 0x2A6D}, {0x2E80, 0x2EFF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3000, 0x303F},
      {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x32FF}, {0x3300, 0x33FF},
      {0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
      {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};
  for (const auto& [first, last] : kBlocks)
    if (point >= first && point <= last) return true;
  return false;
}

std::string chinese(std::string_view text) {
  return western(utf8_of(set_apart(points_of(stripped(text)), chinese_character)));
}

std::string characters(std::string_view text) {
  return utf8_of(set_apart(points_of(text), [](int32_t) { return true; }));
}

}  // namespace

std::string bleu_tokens(std::string_view text, BleuTokenizer tokenizer) {
  const std::string_view line = right_stripped(text);
  switch (tokenizer) {
    case BleuTokenizer::mteval_13a: return mteval_13a(line);
    case BleuTokenizer::none: return std::string(line);
    case BleuTokenizer::characters: return characters(line);
    case BleuTokenizer::international: return international(line);
    case BleuTokenizer::chinese: return chinese(line);
  }
  SKEIN_CHECK(false);
}

const char* name_of(BleuTokenizer tokenizer) {
  switch (tokenizer) {
    case BleuTokenizer::mteval_13a: return "13a";
    case BleuTokenizer::none: return "none";
    case BleuTokenizer::characters: return "char";
    case BleuTokenizer::international: return "intl";
    case BleuTokenizer::chinese: return "zh";
  }
  SKEIN_CHECK(false);
}

}  // namespace skein::text
