#include "skein/text/split/split.h"

#include "kinds.h"

namespace skein::text {
namespace {

char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

}  // namespace

size_t any_case_contraction(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const char first = lower(text[1]), second = text.size() > 2 ? lower(text[2]) : '\0';
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' || first == 'v') && second == 'e') return 3;
  if (first == 'l' && second == 'l') return 3;
  return text.substr(1, 2) == "\xC5\xBF" ? 3 : 0;
}

size_t numbers_end(std::string_view text, size_t at, size_t most) {
  for (size_t taken = 0; taken < most && at < text.size(); ++taken) {
    const ClassifiedCharacter next = kind_at(text, at);
    if (next.kind != Kind::number) break;
    at += next.bytes;
  }
  return at;
}

size_t space_with_breaks_end(std::string_view text, size_t begin) {
  size_t end = begin, last = begin, after_newline = begin;
  while (end < text.size()) {
    const ClassifiedCharacter next = kind_at(text, end);
    if (next.kind != Kind::space) break;
    last = end;
    end += next.bytes;
    if (line_break(text[last])) after_newline = end;
  }
  if (after_newline > begin) return after_newline;
  return end < text.size() && last > begin ? last : end;
}

size_t llama3_piece_end(std::string_view text, size_t begin, size_t digits) {
  if (const size_t bytes = any_case_contraction(text.substr(begin, 3))) return begin + bytes;
  const ClassifiedCharacter first = kind_at(text, begin);
  const size_t after = begin + first.bytes;
  if (first.kind == Kind::letter) return run_end(text, after, Kind::letter);
  if (first.kind == Kind::number) return numbers_end(text, begin, digits);
  const Kind next = after < text.size() ? kind_at(text, after).kind : Kind::space;
  if (next == Kind::letter && !line_break(text[begin])) return run_end(text, after, Kind::letter);
  if (first.kind == Kind::other) return line_breaks_end(text, run_end(text, after, Kind::other));
  if (text[begin] == ' ' && next == Kind::other)
    return line_breaks_end(text, run_end(text, after, Kind::other));
  return space_with_breaks_end(text, begin);
}

}  // namespace skein::text
