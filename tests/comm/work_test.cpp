// What collectives give: a Work that is waited for before the memory is looked at.
#include "skein/comm/work.h"

#include <gtest/gtest.h>

#include "skein/comm/local.h"

#include "comm/passing_group.h"

namespace skein {
namespace {

// A transport that moves nothing before it is waited for.
class Lazy : public test::PassingGroup {
 public:
  using PassingGroup::PassingGroup;
  Work send_bytes(const std::byte* data, int64_t bytes, int peer, int tag) override {
    return later([=, this] { next().send_bytes(data, bytes, peer, tag).wait(); });
  }
  Work recv_bytes(std::byte* data, int64_t bytes, int peer, int tag) override {
    return later([=, this] { next().recv_bytes(data, bytes, peer, tag).wait(); });
  }
  Work all_gather_bytes(const std::byte* in, std::byte* out, int64_t bytes) override {
    return later([=, this] { next().all_gather_bytes(in, out, bytes).wait(); });
  }
  Work broadcast_bytes(std::byte* data, int64_t bytes, int root) override {
    return later([=, this] { next().broadcast_bytes(data, bytes, root).wait(); });
  }

  int begun = 0, over = 0;

 private:
  Work later(std::function<void()> move) {
    ++begun;
    return Work([this, move = std::move(move)] {
      move();
      ++over;
    });
  }
};

Tensor ranks_of(const std::vector<float>& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())});
}

std::vector<float> values_of(const Tensor& tensor) {
  const auto values = tensor.span<float>();
  return {values.begin(), values.end()};
}

TEST(Work, IsOverOnce) {
  int waited = 0;
  Work work([&] { ++waited; });
  work.wait();
  work.wait();
  EXPECT_EQ(waited, 1);
  Work().wait();
}

TEST(Work, OfMovesIsPendingUntilItIsWaitedFor) {
  run_ranks(2, [](Group& world) {
    Lazy late(world);
    const auto own = static_cast<float>(world.rank() + 1);
    const Tensor in = ranks_of({own}), out = ranks_of({7, 7}), told = ranks_of({own});
    Work gathered = late.all_gather(in, out), heard = late.broadcast(told, 1);
    EXPECT_EQ(late.begun, 2);
    EXPECT_EQ(late.over, 0);
    EXPECT_EQ(values_of(out), (std::vector<float>{7, 7}));
    gathered.wait();
    EXPECT_EQ(values_of(out), (std::vector<float>{1, 2}));
    heard.wait();
    EXPECT_EQ(values_of(told), std::vector<float>{2});
  });
}

// Whatever a transport leaves to be waited for, small tensors and large ones.
TEST(Work, OfSumsIsWaitedForWithinThem) {
  run_ranks(3, [](Group& world) {
    Lazy late(world);
    for (const size_t n : {size_t{6}, size_t{60'000}}) {
      const auto own = static_cast<float>(world.rank() + 1);
      const Tensor sum = ranks_of(std::vector<float>(n, own)),
                   most = ranks_of(std::vector<float>(n, own)),
                   part = ranks_of(std::vector<float>(n / 3));
      late.reduce_scatter(sum, part).wait();
      late.all_reduce_sum(sum).wait();
      late.all_reduce_max(most).wait();
      EXPECT_EQ(values_of(sum), std::vector<float>(n, 6));
      EXPECT_EQ(values_of(part), std::vector<float>(n / 3, 6));
      EXPECT_EQ(values_of(most), std::vector<float>(n, 3));
      EXPECT_EQ(late.over, late.begun);
    }
    EXPECT_EQ(late.sum(world.rank() + 0.5), 4.5);
    EXPECT_EQ(late.broadcast(std::string("rank ") + std::to_string(world.rank()), 2), "rank 2");
    EXPECT_EQ(late.all_gather(std::to_string(world.rank())),
              (std::vector<std::string>{"0", "1", "2"}));
    EXPECT_EQ(late.over, late.begun);
  });
}

}  // namespace
}  // namespace skein
