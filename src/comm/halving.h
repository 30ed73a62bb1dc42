// Sums and gathers of tensors between ranks that share no memory, in few messages. Internal to the
// floor.
//
// n = 2^k q ranks, q odd. In step s = 0 .. k-1 those whose numbers differ in bit s alone trade: of
// the blocks it has each keeps those whose numbers agree with its own in that bit, adds what the
// other has of them, and sends the rest. So a rank comes to q blocks that are the sums of the
// aligned 2^k ranks around it, which are a subtree of the order of comm/group.h. The q ranks whose
// numbers agree in all k bits send each other those and join them in the tree of q. A gather goes
// the same way backwards.
//
// Either sends and receives (n - 1) / n of all bytes in k + q - 1 messages: 10 of 1,024 ranks, 6 of
// 48.
#pragma once

#include "skein/comm/group.h"

namespace skein {

// out [n] = tree-ordered sum over ranks of block rank() of in [size()*n]; out may be that block.
// bf16 and f16 are sent as they are and summed in f32: all their blocks go straight, in size() - 1
// messages.
void scatter_sum(Group& group, const Tensor& in, const Tensor& out);
// out: the `bytes` of each rank, in rank order; in may be the own block.
void gather_by_doubling(Group& group, const std::byte* in, std::byte* out, int64_t bytes);

}  // namespace skein
