#include "piece_trie.h"

#include <algorithm>

#include "skein/core/numbers.h"

namespace skein::text {

// Nodes are made level by level: entries of one node are neighbours in sorted order.
PieceTrie::PieceTrie(std::vector<Entry> entries) : nodes_(1), labels_(1, '\0'), roots_(256) {
  struct Range {
    size_t begin, end;
  };
  std::sort(entries.begin(), entries.end());
  std::vector<Range> ranges{{0, entries.size()}};  // by node
  size_t depth = 0, level_end = 1;
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    if (node == level_end) {
      ++depth;
      level_end = nodes_.size();
    }
    auto [at, end] = ranges[node];
    for (; at < end && entries[at].first.size() == depth; ++at)
      if (depth > 0) nodes_[node].id = entries[at].second;
    nodes_[node].first = narrow<uint32_t>(nodes_.size());
    while (at < end) {
      const char label = entries[at].first[depth];
      const size_t begin = at;
      while (at < end && entries[at].first[depth] == label) ++at;
      if (node == 0) roots_[static_cast<unsigned char>(label)] = narrow<uint32_t>(nodes_.size());
      ++nodes_[node].count;
      nodes_.emplace_back();
      labels_.push_back(label);
      ranges.push_back({begin, at});
    }
  }
}

}  // namespace skein::text
