// Strings of bytes with an id each, laid out for walking: the children of a node lie side by side.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skein::text {

class PieceTrie {
 public:
  using Entry = std::pair<std::string_view, int32_t>;

  PieceTrie() : PieceTrie(std::vector<Entry>()) {}
  // Of equal strings the one with the largest id counts; empty ones are left out. Ids are not
  // negative.
  explicit PieceTrie(std::vector<Entry> entries);

  // Calls found(bytes, id) for each string that `text` begins with, the shortest first.
  template <class Found>
  void prefixes(std::string_view text, Found&& found) const {
    uint32_t node = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      node = child(node, text[at]);
      if (node == 0) return;
      if (nodes_[node].id >= 0) found(at + 1, nodes_[node].id);
    }
  }

 private:
  struct Node {
    uint32_t first = 0;  // of its children
    int32_t id = -1;
    uint16_t count = 0;
  };

  // 0: none
  uint32_t child(uint32_t node, char byte) const {
    const Node& parent = nodes_[node];
    if (node == 0) return roots_[static_cast<unsigned char>(byte)];
    if (parent.count == 0) return 0;
    const char* const begin = labels_.data() + parent.first;
    const void* const found = std::memchr(begin, byte, parent.count);
    if (found == nullptr) return 0;
    return parent.first + static_cast<uint32_t>(static_cast<const char*>(found) - begin);
  }

  std::vector<Node> nodes_;
  std::string labels_;  // of each node, the byte that leads to it
  std::vector<uint32_t> roots_;
};

}  // namespace skein::text
