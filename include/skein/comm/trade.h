// Exchanges between the ranks of a group in pairs, and which pairs sum along the tree of
// comm/group.h.
#pragma once

#include <vector>

#include "skein/tensor/tensor.h"

namespace skein {

// `sent` goes to the peer and what it sends comes to `got`, of as many bytes; both stay as they are
// until the trade is over.
struct Trade {
  int peer = 0;
  Tensor sent, got;
};

// n = 2^k q ranks, q odd. In step s = 0 .. k-1 those whose numbers differ in bit s alone trade, and
// one of them keeps for both. What then stands for the aligned 2^k ranks around it, a subtree of
// the order of comm/group.h, is joined between the q ranks whose numbers agree in all k bits.
class Halves {
 public:
  // halve = false: k = 0, and q = n.
  Halves(int rank, int ranks, bool halve = true);

  int steps() const { return steps_; }                       // k
  int peer(int step) const { return rank_ ^ 1 << step; }     // in that step
  int own_bit(int step) const { return rank_ >> step & 1; }  // of what it keeps
  int rest() const { return ranks_ >> steps_; }              // q
  int number() const { return rank_ >> steps_; }             // of this rank among those
  int rank_of(int number) const;                             // of another one
  // With whom this rank trades: in each step, and then at once.
  std::vector<std::vector<int>> rounds() const;

 private:
  int rank_, ranks_, steps_;
};

}  // namespace skein
