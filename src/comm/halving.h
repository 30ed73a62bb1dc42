// Sums and gathers of tensors between ranks that share no memory, in few messages. Internal to the
// floor.
//
// A sum goes by Halves: of the blocks it has each rank keeps in step s those whose numbers agree
// with its own in bit s, adds what the other has of them, and sends the rest. So it comes to q
// blocks, which are the sums of 2^k ranks, and sends those to whom they belong. A gather goes the
// same way backwards.
//
// Either sends and receives (n - 1) / n of all bytes in k + q - 1 messages: 10 of 1,024 ranks, 6 of
// 48.
#pragma once

#include <span>

#include "skein/comm/group.h"

namespace skein {

struct ByteTrade {
  int peer = 0;
  const std::byte* sent = nullptr;
  std::byte* got = nullptr;
};
// All at once, `bytes` each. Returns when they are over.
void trade_bytes(Group& group, std::span<const ByteTrade> trades, int64_t bytes);

// out [n] = tree-ordered sum over ranks of block rank() of in [size()*n]; out may be that block.
// bf16 and f16 are sent as they are and summed in f32: all their blocks go straight, in size() - 1
// messages.
void scatter_sum(Group& group, const Tensor& in, const Tensor& out);
// out: the `bytes` of each rank, in rank order; in may be the own block.
void gather_by_doubling(Group& group, const std::byte* in, std::byte* out, int64_t bytes);

}  // namespace skein
