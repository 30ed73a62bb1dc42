#include "skein/parallel/ordered_sum.h"

#include <bit>
#include <span>
#include <vector>

#include "skein/core/error.h"
#include "skein/kernels/elementwise.h"
#include "skein/kernels/reduce.h"

namespace skein {
namespace {

// left += right
void join(const Tensor& left, const Tensor& right) {
  on_device(left.device(), [&](auto device) { kernels::accumulate(device, right, Out(left)); });
}

// Their sum in the tree, in the memory of the first.
void join_all(std::span<const Tensor> parts) {
  if (parts.size() == 1) return;
  const size_t half = std::bit_floor(parts.size() - 1);
  join_all(parts.first(half));
  join_all(parts.subspan(half));
  join(parts.front(), parts[half]);
}

// Of every two neighbours among the blocks of held [blocks*n] one stays, with what the other rank
// has of it.
Tensor trade_half(Group& group, const Halves& halves, int step, const Tensor& held, int64_t n) {
  const int64_t blocks = held.size() / n / 2, half = blocks * n;
  const Tensor apart = Tensor::empty(held.shape(), held.dtype(), held.device());
  on_device(held.device(), [&](auto device) {
    kernels::swap_leading(device, held.reshape({blocks, 2, n}), Out(apart.reshape({2, blocks, n})));
  });
  const int own = halves.own_bit(step);
  const Trade trade{halves.peer(step), apart.flat((1 - own) * half, half),
                    Tensor::empty({half}, held.dtype(), held.device())};
  group.trade({&trade, 1}).wait();
  const Tensor kept = apart.flat(own * half, half);
  join(own == 0 ? kept : trade.got, own == 0 ? trade.got : kept);
  return own == 0 ? kept : trade.got;
}

}  // namespace

void ordered_reduce_scatter(Group& group, const Tensor& in, const Tensor& out) {
  SKEIN_CHECK_EQ(in.size(), group.size() * out.size());
  const Halves halves(group.rank(), group.size());
  const int64_t n = out.size();
  Tensor held = in.reshape({in.size()});
  for (int step = 0; step < halves.steps(); ++step) held = trade_half(group, halves, step, held, n);
  std::vector<Tensor> parts;
  std::vector<Trade> trades;
  for (int j = 0; j < halves.rest(); ++j) {
    const Tensor block = held.flat(j * n, n);
    parts.push_back(j == halves.number() ? block.clone()
                                         : Tensor::empty({n}, in.dtype(), in.device()));
    if (j != halves.number()) trades.push_back({halves.rank_of(j), block, parts.back()});
  }
  group.trade(trades).wait();
  join_all(parts);
  out.copy_from(parts.front());
}

}  // namespace skein
