// Tokens by id and ids by token. Ids may have gaps.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/core/strings.h"

namespace skein::text {

// In bytes. No longer token is learnt or accepted.
constexpr uint64_t kLongestToken = 4096;

class Vocabulary {
 public:
  // In rising order of ids. A usage error when the id or the token is taken, the token is longer
  // than kLongestToken, or the gaps before it are far wider than what is listed.
  void add(std::string token, int64_t id);

  // One more than the largest id.
  int32_t size() const { return narrow<int32_t>(extents_.size()); }
  bool has(int32_t id) const { return id >= 0 && id < size() && extents_[id].known; }
  // "" for an id that has no token.
  std::string_view token(int32_t id) const {
    const Extent& extent = extents_[id];
    return std::string_view(text_).substr(extent.begin, extent.bytes);
  }
  // -1 where there is none.
  int32_t find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? -1 : found->second;
  }

 private:
  struct Extent {
    uint64_t begin = 0;
    uint32_t bytes = 0;
    bool known = false;
  };

  std::vector<Extent> extents_;
  std::string text_;
  std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>> ids_;
};

// The tokens and ids as a JSON object, in the order of the ids.
std::string vocabulary_json(const Vocabulary& vocabulary);
// `text` as a JSON string.
std::string json_string(std::string_view text);

}  // namespace skein::text
