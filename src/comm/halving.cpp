#include "halving.h"

#include <cstring>
#include <memory>
#include <vector>

#include "tree_sum.h"

namespace skein {
namespace {

// Beyond the tags of a pipeline, and below the largest of any MPI.
constexpr int kTag = 1 << 22;

// How the ranks of a group go together.
class Halves {
 public:
  explicit Halves(Group& group, bool halve = true)
      : group_(group), steps_(halve ? std::countr_zero(static_cast<unsigned>(group.size())) : 0) {}

  int steps() const { return steps_; }
  // Ranks that are left after the steps, and the number of this one among them.
  int rest() const { return group_.size() >> steps_; }
  int number() const { return group_.rank() >> steps_; }
  int own_bit(int step) const { return group_.rank() >> step & 1; }

  // With the rank that differs in the bit of that step.
  void trade(int step, const std::byte* sent, std::byte* got, int64_t bytes) const {
    const int peer = group_.rank() ^ 1 << step;
    Work received = group_.recv_bytes(got, bytes, peer, kTag);
    group_.send_bytes(sent, bytes, peer, kTag).wait();
    received.wait();
  }
  // Between those that are left: sent(j) goes to number j of them, and what it sends comes to
  // got(j).
  template <class Sent, class Got>
  void trade_rest(int64_t bytes, const Sent& sent, const Got& got) const {
    std::vector<Work> leaving, coming;
    for (int j = 0; j < rest(); ++j)
      if (j != number()) coming.push_back(group_.recv_bytes(got(j), bytes, rank_of(j), kTag));
    for (int j = 0; j < rest(); ++j)
      if (j != number()) leaving.push_back(group_.send_bytes(sent(j), bytes, rank_of(j), kTag));
    for (auto* works : {&leaving, &coming})
      for (Work& work : *works) work.wait();
  }

 private:
  int rank_of(int number) const { return number << steps_ | (group_.rank() & ((1 << steps_) - 1)); }

  Group& group_;
  int steps_;
};

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
void trade_half(const Halves& halves, int step, int64_t count, HeldBlocks<T>& held) {
  const int64_t blocks = held.blocks / 2;
  const int own = halves.own_bit(step);
  const auto sent = std::make_unique_for_overwrite<T[]>(blocks * count);
  auto got = std::make_unique_for_overwrite<T[]>(blocks * count);
  for (int64_t b = 0; b < blocks; ++b)
    std::copy_n(held.begin + (2 * b + 1 - own) * count, count, sent.get() + b * count);
  halves.trade(step, bytes_at(sent.get()), bytes_at(got.get()), blocks * count * sizeof(T));
  for (int64_t b = 0; b < blocks; ++b)
    add_block(got.get() + b * count, held.begin + (2 * b + own) * count, count);
  held = {got.get(), blocks, std::move(got)};
}

// in: size() blocks of count.
template <class T>
void scatter_sums(Group& group, const T* in, int64_t count, T* out) {
  constexpr bool kHalves = std::is_same_v<T, SumOf<T>>;
  const Halves halves(group, kHalves);
  HeldBlocks<T> held{in, group.size()};
  if constexpr (kHalves)
    for (int step = 0; step < halves.steps(); ++step) trade_half(halves, step, count, held);
  const auto others =
      std::make_unique_for_overwrite<T[]>(held.blocks > 1 ? held.blocks * count : 0);
  std::vector<const T*> each;
  for (int j = 0; j < halves.rest(); ++j)
    each.push_back((j == halves.number() ? held.begin : others.get()) + j * count);
  halves.trade_rest(
      count * sizeof(T), [&](int j) { return bytes_at(held.begin + j * count); },
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
  const Halves halves(group);
  const auto room = [&](int64_t blocks) {
    return std::make_unique_for_overwrite<std::byte[]>(blocks * bytes);
  };
  int64_t blocks = halves.rest();
  auto memory = room(halves.steps() > 0 ? blocks : 0);
  std::byte* held = halves.steps() > 0 ? memory.get() : out;
  std::byte* const own = held + halves.number() * bytes;
  if (own != in) std::memcpy(own, in, bytes);
  halves.trade_rest(
      bytes, [&](int) { return own; }, [&](int j) { return held + j * bytes; });
  for (int step = halves.steps(); step-- > 0; blocks *= 2) {
    const auto got = room(blocks);
    halves.trade(step, held, got.get(), blocks * bytes);
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
