// The exchange between GPUs as it is built for them, over emulated ones whose streams run by
// themselves and whose NCCL makes every send wait for its receive.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <gtest/gtest.h>
#include <limits>

#include "skein/comm/device_transport.h"
#include "skein/comm/local.h"
#include "skein/core/clock.h"
#include "skein/models/gpt/gpt.h"
#include "skein/parallel/local_model.h"
#include "skein/parallel/ordered_sum.h"
#include "skein/tensor/cuda.h"

#include "support/emulated_device.h"
#include "support/expect_error.h"
#include "support/gradient_check.h"
#include "train/train_fixture.h"

namespace skein {
namespace {

using emulation::Asynchronous;
using emulation::NcclCalls;

// Calls body on each of so many ranks, which have a GPU each.
void on_gpus(int ranks, uint64_t seed, const std::function<void(Group&, Device)>& body) {
  const Asynchronous gpus(ranks, seed);
  run_ranks(ranks, [&](Group& world) { body(world, {DeviceKind::cuda, world.rank()}); });
}

NcclCalls calls_of(const std::function<void()>& work) {
  const NcclCalls before = emulation::nccl_calls();
  work();
  const NcclCalls after = emulation::nccl_calls();
  return {after.begun - before.begun, after.finalized - before.finalized,
          after.aborted - before.aborted};
}

// Whole numbers, whose sums are exact in any order.
Tensor numbers_of(int rank, int64_t count) {
  const Tensor made = Tensor::empty({count}, DType::f32);
  for (int64_t i = 0; i < count; ++i)
    made.data<float>()[i] = static_cast<float>((7 * i + 31 * rank) % 1000);
  return made;
}

void expect_equal(const Tensor& found, const Tensor& wanted) {
  const Tensor here = found.to(Device{});
  for (int64_t i = 0; i < wanted.size(); ++i)
    ASSERT_EQ(here.data<float>()[i], wanted.data<float>()[i]) << i;
}

// As the same collective does on the host.
void compare_collectives(Group& world, Device device) {
  constexpr int64_t kCount = 1000;
  const int64_t ranks = world.size();
  const Tensor own = numbers_of(world.rank(), kCount),
               all = numbers_of(world.rank(), ranks * kCount);
  const Tensor own_there = own.to(device), all_there = all.to(device),
               gathered = Tensor::empty({ranks * kCount}, DType::f32),
               gathered_there = Tensor::zeros({ranks * kCount}, DType::f32, device),
               part = Tensor::empty({kCount}, DType::f32),
               part_there = Tensor::zeros({kCount}, DType::f32, device);
  world.all_gather(own, gathered).wait();
  world.all_gather(own_there, gathered_there).wait();
  expect_equal(gathered_there, gathered);
  world.reduce_scatter(all, part).wait();
  world.reduce_scatter(all_there, part_there).wait();
  expect_equal(part_there, part);
  world.all_reduce_sum(all).wait();
  world.all_reduce_sum(all_there).wait();
  expect_equal(all_there, all);
  world.all_reduce_max(own).wait();
  world.all_reduce_max(own_there).wait();
  expect_equal(own_there, own);
}

// To both neighbours before anything is received: nobody may wait for a receiver.
void pass_round(Group& world, Device device) {
  const int ranks = world.size(), next = (world.rank() + 1) % ranks,
            last = (world.rank() + ranks - 1) % ranks;
  std::vector<Work> sent;
  for (int round = 0; round < 5; ++round) {
    const Tensor own = numbers_of(world.rank() + 10 * round, 2000).to(device);
    sent.push_back(world.send(own, next, 0));
    sent.push_back(world.send(own, last, 1));
  }
  for (int round = 0; round < 5; ++round) {
    const Tensor from_last = Tensor::zeros({2000}, DType::f32, device),
                 from_next = Tensor::zeros({2000}, DType::f32, device);
    world.recv(from_last, last, 0).wait();
    world.recv(from_next, next, 1).wait();
    expect_equal(from_last, numbers_of(last + 10 * round, 2000));
    expect_equal(from_next, numbers_of(next + 10 * round, 2000));
  }
  for (Work& one : sent) one.wait();
}

TEST(Nccl, MovesAndSumsAsTheHostDoes) {
  for (int ranks : {2, 3, 4})
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const NcclCalls calls = calls_of([&] {
        on_gpus(ranks, seed, [](Group& world, Device device) {
          connect_devices(world, device, {"test", true}, nullptr);
          compare_collectives(world, device);
          pass_round(world, device);
        });
      });
      EXPECT_GT(calls.begun, ranks) << "the group and its edges";
      EXPECT_EQ(calls.finalized, calls.begun) << "all is well, so peers may still be receiving";
      EXPECT_EQ(calls.aborted, 0);
    }
}

// The library would add in an order that topology and size give it.
TEST(Nccl, OrderedSumsHaveTheBitsOfTheHost) {
  for (int ranks : {2, 3, 4, 6})
    for (uint64_t seed = 1; seed <= 2; ++seed)
      on_gpus(ranks, seed, [&](Group& world, Device device) {
        connect_devices(world, device, {"test"}, nullptr);
        constexpr int64_t kCount = 700;
        const Tensor all = test::random_tensor({ranks * kCount},
                                               5 + static_cast<uint64_t>(world.rank()), DType::f32);
        const Tensor wanted = Tensor::empty({kCount}, DType::f32),
                     found = Tensor::zeros({kCount}, DType::f32, device);
        world.reduce_scatter(all, wanted).wait();
        ordered_reduce_scatter(world, all.to(device), found);
        expect_equal(found, wanted);
      });
}

// One number each, and yet the same GPU: the library would refuse them.
TEST(Nccl, RanksThatShareAGpuPassThroughTheHost) {
  const emulation::OneGpuForAll one;
  const NcclCalls calls = calls_of([] {
    on_gpus(2, 1, [](Group& world, Device device) {
      connect_devices(world, device, {"test", true}, nullptr);
      compare_collectives(world, device);
    });
  });
  EXPECT_EQ(calls.begun, 0);
}

TEST(Nccl, ModelsOfOneMeshConnectOnce) {
  ParallelConfig parallel;
  parallel.device = DeviceKind::cuda;
  ModelConfig model = train::small_config("").model;
  model.vocab_size = 64;
  model.n_layers = 1;
  const NcclCalls calls = calls_of([&] {
    on_gpus(2, 1, [&](Group& world, Device) {
      Mesh mesh(world, {1, 2, 1});
      const LocalModel policy(model, parallel, mesh, DType::f32),
          reference(model, parallel, mesh, DType::f32);
    });
  });
  EXPECT_EQ(calls.begun, 2) << "one communicator of two ranks";
  EXPECT_EQ(calls.finalized, 2);
}

TEST(Nccl, AFailureOfOneRankAbortsWhatOthersWaitFor) {
  const NcclCalls calls = calls_of([] {
    test::expect_error(ExitCode::failure, {"the second rank fails"}, [] {
      on_gpus(2, 1, [](Group& world, Device device) {
        Mesh mesh(world, {1, 2, 1});
        mesh.connect(device, 600);
        if (world.rank() == 1) fail("the second rank fails");
        mesh.dp().all_reduce_sum(numbers_of(0, 1000).to(device)).wait();
        cuda::synchronize(device.index);
        world.barrier();
      });
    });
  });
  EXPECT_GT(calls.aborted, 0);
}

// Waits, without the device, for what nobody sends.
void await_the_end(Group& world) {
  std::byte nothing;
  world.recv_bytes(&nothing, 1, 1 - world.rank(), 0).wait();
}

TEST(Nccl, ARankThatDoesNotComeEndsTheJob) {
  test::expect_error(ExitCode::watchdog, {"a rank ended the job with exit code 75"}, [] {
    on_gpus(2, 1, [](Group& world, Device device) {
      Mesh mesh(world, {1, 2, 1});
      mesh.connect(device, 3);  // of which connecting takes one where much else runs
      if (world.rank() == 0) {
        mesh.dp().all_reduce_sum(numbers_of(0, 1000).to(device)).wait();
        cuda::synchronize(device.index);
      }
      await_the_end(world);
    });
  });
}

// The case that a watchdog is for: this thread stands still in the driver, and so does every other
// that asks it anything.
TEST(Nccl, ADriverThatKeepsEverybodyWaitingEndsTheJob) {
  const int64_t lost = emulation::calls_on_no_device();
  test::expect_error(ExitCode::watchdog, {"exit code 75"}, [] {
    on_gpus(2, 1, [](Group& world, Device device) {
      const auto ended = std::make_shared<std::promise<void>>();
      std::atomic<double> stuck_since = std::numeric_limits<double>::infinity();
      Watchdog::Settings settings;
      settings.speaker = "rank";
      settings.timeout = 0.5;
      settings.interval = 0.01;
      settings.clock = [&] { return std::max(0.0, steady_seconds() - stuck_since); };
      settings.end = [&world, ended](ExitCode code) {
        world.abort(static_cast<int>(code));
        ended->set_value();
      };
      const auto watchdog = world.rank() == 0 ? std::make_shared<Watchdog>(settings) : nullptr;
      const auto group = world.split(0, world.rank());  // goes before the watchdog
      connect_devices(*group, device, {"test"}, watchdog);
      if (world.rank() == 0) {
        group->all_reduce_sum(numbers_of(0, 1000).to(device)).wait();
        const std::lock_guard stuck(emulation::driver_lock(device.index));
        stuck_since = steady_seconds();
        EXPECT_EQ(ended->get_future().wait_for(std::chrono::seconds(60)),
                  std::future_status::ready);
      }
      await_the_end(world);
    });
  });
  EXPECT_EQ(emulation::calls_on_no_device(), lost)
      << "a thread that chose no device begins a context on the first one";
}

}  // namespace
}  // namespace skein

namespace skein::train {
namespace {

class OnGpus : public testing::TestWithParam<uint64_t> {};

TEST_P(OnGpus, LayoutsFollowTheCpu) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  PretrainConfig cpu = small_config(folder.file("train.h5"));
  cpu.model.n_layers = 2;
  cpu.train.steps = 2;
  cpu.train.precision = DType::f32;
  cpu.train.global_batch = 8;  // an emulated GPU does a hundred tokens a second
  const Finished wanted = train(cpu, 1, folder, "cpu");
  int number = 0;
  for (const MeshShape& shape : {MeshShape{1, 2, 1}, {2, 1, 1}, {1, 1, 2}, {2, 2, 1}}) {
    PretrainConfig c = cpu;
    c.parallel.device = DeviceKind::cuda;
    c.parallel.pipeline = shape.pp;
    c.parallel.tensor = shape.tp;
    c.parallel.sequence = shape.tp > 1;
    const std::string name = fmt::format("gpus{}", number++);
    const auto before = emulation::nccl_calls();
    {
      const emulation::Asynchronous gpus(shape.ranks(), GetParam());
      const Finished found = train(c, shape.ranks(), folder, name);
      ASSERT_EQ(found.losses.size(), wanted.losses.size());
      for (size_t i = 0; i < found.losses.size(); ++i)
        EXPECT_NEAR(found.losses[i], wanted.losses[i], 2e-5) << name << " step " << i;
    }
    const auto after = emulation::nccl_calls();
    EXPECT_GT(after.begun, before.begun) << name;
    EXPECT_EQ(after.finalized - before.finalized, after.begun - before.begun) << name;
  }
}

// At the same micro-batch: products of other sizes may be cut otherwise.
TEST_P(OnGpus, RanksAndStagesHaveTheBitsOfOne) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  PretrainConfig c = small_config(folder.file("train.h5"));
  c.parallel.device = DeviceKind::cuda;
  c.model.n_layers = 2;
  c.train.steps = 2;
  c.train.precision = DType::f32;
  c.train.global_batch = 8;
  int number = 0;
  const auto run = [&](int data, int pipeline) {
    c.parallel.pipeline = pipeline;
    const emulation::Asynchronous gpus(data * pipeline, GetParam());
    return train(c, data * pipeline, folder, fmt::format("bits{}", number++));
  };
  const Finished wanted = run(1, 1);
  for (const auto& [data, pipeline, order] : {std::tuple{2, 1, GroupOrder::contiguous},
                                              {2, 1, GroupOrder::strided},
                                              {1, 2, GroupOrder::automatic},
                                              {4, 1, GroupOrder::automatic}}) {
    c.parallel.group_order = order;
    const Finished found = run(data, pipeline);
    EXPECT_EQ(found.losses, wanted.losses) << data << pipeline;
    EXPECT_EQ(first_difference(found.state, wanted.state), "") << data << pipeline;
  }
}

// A stage takes memory and loads kernels in its first step, while what it sent waits for the next
// one: where the driver waits for all streams then, so would both stages for ever.
TEST_P(OnGpus, StagesDoNotWaitForEachOtherInTheDriver) {
  const test::Scratch folder;
  write_small_store(folder.file("train.h5"));
  PretrainConfig c = small_config(folder.file("train.h5"));
  c.parallel.device = DeviceKind::cuda;
  c.parallel.pipeline = 2;
  c.parallel.timeout = 30;
  c.model.n_layers = 2;
  c.train.steps = 2;
  c.train.precision = DType::f32;
  c.train.global_batch = 8;
  const emulation::Asynchronous gpus(2, GetParam());
  const emulation::WaitingDriver driver;
  const Finished found = train(c, 2, folder, "waiting");
  EXPECT_EQ(found.losses.size(), 2u);
}

// Each seed delays the streams otherwise.
uint64_t seeds() {
  const char* text = std::getenv("SKEIN_TEST_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : 3;
}

INSTANTIATE_TEST_SUITE_P(Seeds, OnGpus, testing::Range<uint64_t>(1, 1 + seeds()));

}  // namespace
}  // namespace skein::train
