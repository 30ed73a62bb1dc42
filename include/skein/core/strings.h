// Text as programs read it, and as messages show it: no byte of unknown origin steers a terminal,
// and there is no more of it than helps.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skein {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

// Whether a byte of UTF-8 goes on with a character that a byte before it began.
constexpr bool continues_character(char byte) { return (byte & 0xC0) == 0x80; }

// For maps by std::string that are asked for views: std::unordered_map<std::string, V, TextHash,
// std::equal_to<>>.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// Without the blanks at both ends.
std::string trimmed(std::string_view text, std::string_view blanks = kBlanks);

// As a field of CSV: in quotes where it must be.
std::string csv_field(std::string_view text);
// Control characters but those in `kept`, and bytes that are no UTF-8, as \x1B.
std::string visible(std::string_view text, std::string_view kept = "\t");
// The visible form of its first `most` bytes, whole characters, "..." for what is left out.
std::string excerpt(std::string_view text, size_t most = 200);
// Excerpts of the words between commas, within about 200 bytes; "none" for none.
std::string listed(const std::vector<std::string>& words);
// What an exception says; of the JSON library's an excerpt without its own name for the error.
std::string json_fault(std::string_view said);

// The number that the text is, all of it and in the C locale; nothing where it is none, or none
// that `Number` holds.
template <class Number>
std::optional<Number> parsed_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// The known word nearest to `word` by edit distance, or "" when none is near: with at most `most`
// letters wrong, by itself a third of them, at least 2.
std::string nearest(const std::string& word, const std::vector<std::string>& known,
                    std::optional<size_t> most = {});
// "; did you mean \"text\"?" for the known word nearest to `word`, "" when none is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

// "1.5 GiB".
std::string readable_size(int64_t bytes);
// 93784.2 as "1d02h", 250 as "4m10s", 7.1 as "7s".
std::string readable_seconds(double seconds);
// 5123.0 as "5.1k", 1.2e12 as "1.2T"; gap stands before the letter: " " where a unit follows.
std::string readable_count(double value, const char* gap = "");

}  // namespace skein
