#include "skein/comm/ring.h"

namespace skein {

bool RingEdge::carries(int source, int target, int tag, int ranks) const {
  return source == from && target == to && (ranks > 2 || up == (tag % 2 == 0));
}

std::vector<RingEdge> ring_edges(int ranks) {
  std::vector<RingEdge> edges;
  if (ranks < 2) return edges;
  const auto round_of = [ranks](int r) { return r == ranks - 1 && ranks % 2 == 1 ? 2 : r % 2; };
  for (int round = 0; round < 3; ++round)
    for (const bool up : {true, false})
      for (int r = 0; r < ranks; ++r) {
        if (round_of(r) != round) continue;
        const int next = (r + 1) % ranks;
        edges.push_back(up ? RingEdge{r, next, true} : RingEdge{next, r, false});
      }
  return edges;
}

}  // namespace skein
