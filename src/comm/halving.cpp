#include "halving.h"

#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "tree_sum.h"

namespace skein {

Halves::Halves(int rank, int ranks, bool halve)
    : rank_(rank),
      ranks_(ranks),
      steps_(halve ? std::countr_zero(static_cast<unsigned>(ranks)) : 0) {}

int Halves::rank_of(int number) const { return number << steps_ | (rank_ & ((1 << steps_) - 1)); }

std::vector<std::vector<int>> Halves::rounds() const {
  std::vector<std::vector<int>> made;
  for (int step = 0; step < steps(); ++step) made.push_back({peer(step)});
  if (rest() > 1) made.emplace_back();
  for (int j = 0; j < rest(); ++j)
    if (j != number()) made.back().push_back(rank_of(j));
  return made;
}

void trade_bytes(Group& group, std::span<const ByteTrade> trades, int64_t bytes) {
  // Beyond the tags of a pipeline, and below the largest of any MPI.
  constexpr int kTag = 1 << 22;
  std::vector<Work> leaving, coming;
  for (const ByteTrade& trade : trades)
    coming.push_back(group.recv_bytes(trade.got, bytes, trade.peer, kTag));
  for (const ByteTrade& trade : trades)
    leaving.push_back(group.send_bytes(trade.sent, bytes, trade.peer, kTag));
  for (auto* works : {&leaving, &coming})
    for (Work& work : *works) work.wait();
}

namespace {

// Between the ranks that are left after the steps: sent(j) goes to number j of them, and what it
// sends comes to got(j).
template <class Sent, class Got>
void trade_rest(Group& group, const Halves& halves, int64_t bytes, const Sent& sent,
                const Got& got) {
  std::vector<ByteTrade> trades;
  for (int j = 0; j < halves.rest(); ++j)
    if (j != halves.number()) trades.push_back({halves.rank_of(j), sent(j), got(j)});
  trade_bytes(group, trades, bytes);
}

template <class T>
std::byte* bytes_at(T* values) {
  return reinterpret_cast<std::byte*>(values);
}
template <class T>
const std::byte* bytes_at(const T* values) {
  return reinterpret_cast<const std::byte*>(values);
}

template <class T>
struct HeldBlocks {
  const T* begin;
  int64_t blocks;
  std::unique_ptr<T[]> memory = nullptr;  // of begin, where it is not the caller's
};

// Of every two neighbours among the blocks one stays, with what the other rank has of it.
template <class T>
void trade_half(Group& group, const Halves& halves, int step, int64_t count, HeldBlocks<T>& held) {
  const int64_t blocks = held.blocks / 2;
  const int own = halves.own_bit(step);
  const auto sent = std::make_unique_for_overwrite<T[]>(blocks * count);
  auto got = std::make_unique_for_overwrite<T[]>(blocks * count);
  for (int64_t b = 0; b < blocks; ++b)
    std::copy_n(held.begin + (2 * b + 1 - own) * count, count, sent.get() + b * count);
  const ByteTrade trade{halves.peer(step), bytes_at(sent.get()), bytes_at(got.get())};
  trade_bytes(group, {&trade, 1}, blocks * count * sizeof(T));
  for (int64_t b = 0; b < blocks; ++b)
    add_block(got.get() + b * count, held.begin + (2 * b + own) * count, count);
  held = {got.get(), blocks, std::move(got)};
}

// in: size() blocks of count.
template <class T>
void scatter_sums(Group& group, const T* in, int64_t count, T* out) {
  constexpr bool kHalves = std::is_same_v<T, SumOf<T>>;
  const Halves halves(group.rank(), group.size(), kHalves);
  HeldBlocks<T> held{in, group.size()};
  if constexpr (kHalves)
    for (int step = 0; step < halves.steps(); ++step) trade_half(group, halves, step, count, held);
  const auto others =
      std::make_unique_for_overwrite<T[]>(held.blocks > 1 ? held.blocks * count : 0);
  std::vector<const T*> each;
  for (int j = 0; j < halves.rest(); ++j)
    each.push_back((j == halves.number() ? held.begin : others.get()) + j * count);
  trade_rest(
      group, halves, count * sizeof(T), [&](int j) { return bytes_at(held.begin + j * count); },
      [&](int j) { return bytes_at(others.get() + j * count); });
  sum_ranks(each, count, out);
}

}  // namespace

void scatter_sum(Group& group, const Tensor& in, const Tensor& out) {
  visit_sums(out.dtype(), [&]<class T>(TypeTag<T>) {
    scatter_sums(group, in.data<T>(), out.size(), out.data<T>());
  });
}

void gather_by_doubling(Group& group, const std::byte* in, std::byte* out, int64_t bytes) {
  const Halves halves(group.rank(), group.size());
  const auto room = [&](int64_t blocks) {
    return std::make_unique_for_overwrite<std::byte[]>(blocks * bytes);
  };
  int64_t blocks = halves.rest();
  auto memory = room(halves.steps() > 0 ? blocks : 0);
  std::byte* held = halves.steps() > 0 ? memory.get() : out;
  std::byte* const own = held + halves.number() * bytes;
  if (own != in && bytes > 0) std::memcpy(own, in, bytes);
  trade_rest(
      group, halves, bytes, [&](int) { return own; }, [&](int j) { return held + j * bytes; });
  for (int step = halves.steps(); step-- > 0; blocks *= 2) {
    const auto got = room(blocks);
    const ByteTrade trade{halves.peer(step), held, got.get()};
    trade_bytes(group, {&trade, 1}, blocks * bytes);
    auto merged = room(step > 0 ? 2 * blocks : 0);
    std::byte* const into = step > 0 ? merged.get() : out;
    for (int64_t b = 0; b < 2 * blocks; ++b)
      std::memcpy(into + b * bytes,
                  (b % 2 == halves.own_bit(step) ? held : got.get()) + b / 2 * bytes, bytes);
    memory = std::move(merged);
    held = into;
  }
}

}  // namespace skein
