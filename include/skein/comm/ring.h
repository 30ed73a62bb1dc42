// The directed edges over which neighbours on a ring of ranks pass tensors on devices. Each has its
// own stream, so two ranks may send to each other at once.
#pragma once

#include <vector>

namespace skein {

struct RingEdge {
  int from = 0, to = 0;
  bool up = true;  // from r to r + 1, not to r - 1, modulo the ranks
  bool operator==(const RingEdge&) const = default;

  // Whether a message takes this edge. Of two ranks each has two edges to the other: even tags go
  // up, odd tags down.
  bool carries(int source, int target, int tag, int ranks) const;
};

// All edges, in an order in which every rank can connect its own one after the other: edges without
// a common rank come together.
std::vector<RingEdge> ring_edges(int ranks);

}  // namespace skein
