#include "skein/core/strings.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace skein {
namespace {

constexpr size_t kMostBytes = 200;

// Bytes of the character of UTF-8 that text begins with; 0 where it begins with none, or with a
// control character of two bytes (U+0080 to U+009F).
size_t character_bytes(std::string_view text) {
  const auto at = [&](size_t i) -> unsigned char { return text[i]; };
  const size_t bytes = at(0) < 0x80   ? 1
                       : at(0) < 0xC2 ? 0
                       : at(0) < 0xE0 ? 2
                       : at(0) < 0xF0 ? 3
                       : at(0) < 0xF5 ? 4
                                      : 0;
  if (bytes < 2) return bytes;
  if (text.size() < bytes ||
      !std::all_of(text.begin() + 1, text.begin() + bytes, continues_character))
    return 0;
  // The second byte tells apart C1 controls, encodings that are too long, surrogates, and what is
  // beyond U+10FFFF.
  if (at(0) == 0xC2 && at(1) < 0xA0) return 0;
  if ((at(0) == 0xE0 && at(1) < 0xA0) || (at(0) == 0xF0 && at(1) < 0x90)) return 0;
  if ((at(0) == 0xED && at(1) >= 0xA0) || (at(0) == 0xF4 && at(1) >= 0x90)) return 0;
  return bytes;
}

bool is_control(char byte) { return (byte & 0xFF) < 0x20 || byte == 0x7F; }

// Insertions, deletions, changes, and swaps of neighbours (optimal string alignment).
size_t edit_distance(const std::string& left, const std::string& right) {
  std::vector<size_t> before, last, row(right.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= left.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= right.size(); ++j) {
      row[j] = std::min({last[j - 1] + (left[i - 1] != right[j - 1]), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string trimmed(std::string_view text, std::string_view blanks) {
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(blanks) + 1 - first));
}

std::string visible(std::string_view text, std::string_view kept) {
  std::string shown;
  while (!text.empty()) {
    const bool odd = is_control(text.front()) && kept.find(text.front()) == std::string_view::npos;
    const size_t bytes = odd ? 0 : character_bytes(text);
    if (bytes == 0) shown += fmt::format("\\x{:02X}", text.front() & 0xFF);
    shown += text.substr(0, bytes);
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return shown;
}

std::string excerpt(std::string_view text, size_t most) {
  if (text.size() <= most) return visible(text);
  size_t cut = most;
  while (cut + 3 > most && continues_character(text[cut])) --cut;
  return visible(text.substr(0, cut)) + "...";
}

std::string json_fault(std::string_view said) {
  const size_t bracket = said.find("] ");
  if (!said.starts_with("[json.exception") || bracket == std::string_view::npos)
    return std::string(said);
  return excerpt(said.substr(bracket + 2));
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string made = "\"";
  for (const char c : text) made += c == '"' ? std::string("\"\"") : std::string(1, c);
  return made + "\"";
}

std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) {
    list += list.empty() ? "" : ", ";
    list += excerpt(word);
    if (list.size() > kMostBytes) return list + ", ...";
  }
  return list.empty() ? "none" : list;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  if (word.size() > kMostBytes) return "";
  std::vector<std::string> short_ones;
  for (const std::string& candidate : known)
    if (candidate.size() <= kMostBytes) short_ones.push_back(candidate);
  const std::string best = nearest(word, short_ones);
  return best.empty() ? "" : fmt::format("; did you mean \"{}\"?", best);
}

std::string nearest(const std::string& word, const std::vector<std::string>& known,
                    std::optional<size_t> most) {
  std::string best;
  const size_t allowed = most.value_or(std::max<size_t>(2, word.size() / 3));
  size_t best_distance = std::min(word.size(), allowed + 1);
  for (const std::string& candidate : known) {
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    if (longer - shorter >= best_distance) continue;  // no distance is less than that
    const size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string readable_size(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = bytes;
  int unit = -1;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string readable_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  const int64_t whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole / 3600 % 24);
}

std::string readable_count(double value, const char* gap) {
  constexpr const char* suffixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t k = 0;
  for (; std::abs(value) >= 1000 && k + 1 < std::size(suffixes); ++k) value /= 1000;
  const std::string unit = std::string(gap) + suffixes[k];
  return k == 0 || value >= 100 ? fmt::format("{:.0f}{}", value, unit)
                                : fmt::format("{:.1f}{}", value, unit);
}

}  // namespace skein
