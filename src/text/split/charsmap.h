// SentencePiece's table of replacements (`precompiled_charsmap`): strings of bytes and what stands
// instead of each, as a double-array trie (Aoe 1989; the layout of Darts-clone) that is walked
// where it lies.
//
//   u32      bytes of the trie
//   u32 ...  its units: label in the low byte, and a leaf's value in bits 0 to 30 with bit 31 set;
//            bit 8: a leaf hangs below; bits 10 to 31: offset, times 256 where bit 9 is set
//   bytes    the replacements, each ended by a zero byte; a value is where one begins
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skein::text {

class Charsmap {
 public:
  struct Match {
    size_t bytes = 0;       // 0: none
    std::string_view made;  // what stands instead
  };

  // A usage error naming `where` when the lengths do not fit, or a replacement is so long that text
  // would grow without bounds. Whatever the units say, no walk leaves the table.
  Charsmap(std::string_view bytes, const std::string& where);

  // Of the strings that `text` begins with.
  Match shortest(std::string_view text) const { return walk(text, false); }
  Match longest(std::string_view text) const { return walk(text, true); }

 private:
  Match walk(std::string_view text, bool to_the_end) const;

  std::vector<uint32_t> units_;
  std::string made_;
};

}  // namespace skein::text
