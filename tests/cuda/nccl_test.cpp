// NCCL's queue alone, for which a group of one rank is enough.
#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/tensor/cuda.h"

#include "comm/cuda/nccl_queue.h"
#include "support/expect_error.h"

namespace skein {
namespace {

constexpr Device kGpu{DeviceKind::cuda, 0};
constexpr int64_t kCount = 1000;

Tensor counted(float first) {
  const Tensor made = Tensor::empty({kCount}, DType::f32);
  for (int64_t i = 0; i < kCount; ++i) made.data<float>()[i] = first + static_cast<float>(i);
  return made.to(kGpu);
}

void expect_counted(const Tensor& found, float first) {
  const Tensor here = found.to(Device{});
  for (int64_t i = 0; i < kCount; ++i)
    ASSERT_EQ(here.data<float>()[i], first + static_cast<float>(i)) << i;
}

void with_queue(const std::function<void(NcclQueue&)>& body) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
  run_ranks(1, [&](Group& alone) {
    NcclQueue queue(alone, kGpu, {});
    body(queue);
  });
}

TEST(NcclQueue, MovesInAGroupOfOne) {
  with_queue([](NcclQueue& queue) {
    const Tensor in = counted(3);
    const auto empty = [] { return Tensor::zeros({kCount}, DType::f32, kGpu); };
    const Tensor gathered = empty(), summed = empty(), traded = empty();
    queue.all_gather(in, gathered);
    queue.reduce_scatter(in, summed);
    queue.all_reduce(in, false);
    queue.all_reduce(in, true);
    queue.broadcast(in, 0);
    const std::vector<Trade> trades{{0, in, traded}};
    queue.trade(trades);
    for (const Tensor& found : {in, gathered, summed, traded}) expect_counted(found, 3);
    EXPECT_EQ(queue.error(), "");
  });
}

TEST(NcclQueue, MarksPassWhenTheirStreamHasCome) {
  with_queue([](NcclQueue& queue) {
    const Tensor in = counted(5), out = Tensor::zeros({kCount}, DType::f32, kGpu);
    queue.all_gather(in, out);
    const int64_t waited = queue.mark(NcclQueue::kCompute), asked = queue.mark(NcclQueue::kCompute);
    queue.wait(NcclQueue::kCompute, waited);
    cuda::synchronize(0);
    EXPECT_TRUE(queue.passed(asked));
    expect_counted(out, 5);
  });
}

TEST(NcclQueue, RefusesWorkOnceAborted) {
  with_queue([](NcclQueue& queue) {
    const Tensor in = counted(7);
    queue.all_reduce(in, false);
    queue.abort(ExitCode::watchdog);
    EXPECT_EQ(queue.error(), "");
    test::expect_error(ExitCode::watchdog, {"the exchanges of this job were ended"},
                       [&] { queue.all_reduce(in, false); });
  });
}

}  // namespace
}  // namespace skein
