#include "charsmap.h"

#include <algorithm>
#include <cstring>

#include "skein/core/error.h"
#include "skein/text/split/utf8.h"

namespace skein::text {
namespace {

constexpr size_t kLongestReplacement = 1024;
constexpr uint32_t kLeaf = uint32_t{1} << 31;

uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

}  // namespace

Charsmap::Charsmap(std::string_view bytes, const std::string& where) {
  uint32_t size = 0;
  require(bytes.size() > sizeof size, "{} has a precompiled_charsmap of {} bytes, which holds none",
          where, bytes.size());
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  require(size >= sizeof size && size % sizeof size == 0 && size < bytes.size(),
          "{} has a precompiled_charsmap whose trie has {} bytes, but {} follow; the file is "
          "damaged, get it anew",
          where, size, bytes.size());
  units_.resize(size / sizeof size);
  std::memcpy(units_.data(), bytes.data(), size);
  made_ = bytes.substr(size);
  require(valid_utf8(made_), "{} has a precompiled_charsmap whose replacements are not valid UTF-8",
          where);
  for (size_t begin = 0, end = 0; begin < made_.size(); begin = end + 1) {
    end = std::min(made_.find('\0', begin), made_.size());
    require(end - begin <= kLongestReplacement,
            "{} has a precompiled_charsmap with a replacement of {} bytes; {} is the most", where,
            end - begin, kLongestReplacement);
  }
}

Charsmap::Match Charsmap::walk(std::string_view text, bool to_the_end) const {
  Match best;
  uint32_t node = offset_of(units_[0]);
  for (size_t at = 0; at < text.size() && text[at] != '\0'; ++at) {
    const uint32_t label = text[at] & 0xFF;
    node ^= label;
    if (node >= units_.size() || (units_[node] & (kLeaf | 0xFF)) != label) break;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if ((unit & 0x100) == 0) continue;
    if (node >= units_.size()) break;
    const uint32_t begin = units_[node] & ~kLeaf;
    if (begin >= made_.size()) continue;
    best = {at + 1, std::string_view(made_.c_str() + begin)};
    if (!to_the_end) break;
  }
  return best;
}

}  // namespace skein::text
