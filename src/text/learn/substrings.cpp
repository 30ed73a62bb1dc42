// Suffixes are cut where a piece would have to end, so that comparing two is short, and the longest
// common prefix of neighbours in sorted order tells the nodes of the tree: a node is a range of
// suffixes whose common prefix is longer than with those around it. `open` holds the ranges that
// go on, from the shallowest.
#include "skein/text/learn/substrings.h"

#include <algorithm>

#include "skein/core/numbers.h"

#include "text/split/kinds.h"

namespace skein::text {
namespace {

struct Suffix {
  const char* begin;
  uint32_t bytes;
  uint32_t word;
  std::string_view text() const { return {begin, bytes}; }
};

Kind kind_of(std::string_view character) {
  const int32_t point = character_at(character, 0).point;
  return mark(point) ? Kind::letter : kind_at(character, 0).kind;
}

// Where the longest piece ends that begins with character `from`.
size_t piece_end(const std::vector<std::string_view>& characters, size_t from,
                 std::string_view mark, size_t longest) {
  size_t end = from + 1;
  const size_t first = characters[from] == mark ? end : from;
  while (end < characters.size() && end < from + longest && characters[end] != mark &&
         kind_of(characters[end]) == kind_of(characters[first]))
    ++end;
  return end;
}

std::vector<Suffix> sorted_suffixes(const std::vector<CountedWord>& words, std::string_view mark,
                                    size_t longest) {
  std::vector<Suffix> suffixes;
  for (uint32_t word = 0; word < words.size(); ++word) {
    const auto characters = characters_in(words[word].text);
    for (size_t from = 0; from < characters.size(); ++from) {
      const std::string_view last = characters[piece_end(characters, from, mark, longest) - 1];
      const char* const begin = characters[from].data();
      suffixes.push_back({begin, narrow<uint32_t>(last.data() + last.size() - begin), word});
    }
  }
  std::sort(suffixes.begin(), suffixes.end(), [](const Suffix& left, const Suffix& right) {
    if (left.text() != right.text()) return left.text() < right.text();
    return std::pair(left.word, left.begin) < std::pair(right.word, right.begin);
  });
  return suffixes;
}

// In bytes, at the boundary of a character.
size_t common_prefix(std::string_view left, std::string_view right) {
  const size_t most = std::min(left.size(), right.size());
  size_t same = 0;
  while (same < most && left[same] == right[same]) ++same;
  while (same > 0 && same < left.size() && (left[same] & 0xC0) == 0x80) --same;
  while (same > 0 && same < right.size() && (right[same] & 0xC0) == 0x80) --same;
  return same;
}

size_t length(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

class Nodes {
 public:
  void add(std::string_view text, int64_t count) {
    if (count >= 2 && length(text) >= 2) found_.push_back({text, count});
  }

  std::vector<Substring> best(size_t most) {
    const auto weight = [](const Substring& node) {
      return static_cast<double>(node.count) * static_cast<double>(length(node.text));
    };
    std::sort(found_.begin(), found_.end(), [&](const Substring& left, const Substring& right) {
      const double l = weight(left), r = weight(right);
      return l > r || (l == r && left.text < right.text);
    });
    found_.resize(std::min(most, found_.size()));
    return std::move(found_);
  }

 private:
  std::vector<Substring> found_;
};

}  // namespace

std::vector<std::string_view> characters_in(std::string_view text) {
  std::vector<std::string_view> characters;
  for (size_t at = 0; at < text.size(); at += characters.back().size())
    characters.push_back(text.substr(at, character_at(text, at).bytes));
  return characters;
}

std::vector<Substring> frequent_substrings(const std::vector<CountedWord>& words,
                                           std::string_view mark, size_t longest, size_t most) {
  struct Open {
    size_t bytes;
    int64_t before;  // what was counted before its first suffix
  };
  const std::vector<Suffix> suffixes = sorted_suffixes(words, mark, longest);
  Nodes nodes;
  std::vector<Open> open;
  int64_t counted = 0;
  for (size_t i = 0; i < suffixes.size(); ++i) {
    const std::string_view text = suffixes[i].text();
    // A suffix is the deepest node of its own.
    if (open.empty() || open.back().bytes < text.size()) open.push_back({text.size(), counted});
    counted += words[suffixes[i].word].count;
    const size_t shared = i + 1 < suffixes.size() ? common_prefix(text, suffixes[i + 1].text()) : 0;
    int64_t before = counted;
    while (!open.empty() && open.back().bytes > shared) {
      before = open.back().before;
      nodes.add(text.substr(0, open.back().bytes), counted - before);
      open.pop_back();
    }
    if (shared > 0 && (open.empty() || open.back().bytes < shared))
      open.push_back({shared, before});
  }
  return nodes.best(most);
}

}  // namespace skein::text
