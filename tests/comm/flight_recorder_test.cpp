// What a thread exchanges, as another one reads it.
#include "skein/comm/flight_recorder.h"

#include <gtest/gtest.h>
#include <thread>

#include "skein/comm/local.h"

namespace skein {
namespace {

const Exchange kDataSum{"all-reduce", "data", 4 << 20};

TEST(FlightRecorder, TellsWhatIsUnderWayAndWhere) {
  FlightRecorder recorder;
  EXPECT_FALSE(recorder.under_way());
  {
    const WhereScope step = WhereScope::step(12);
    std::string name = "block.4";
    const WhereScope block = WhereScope::part(name.c_str());
    recorder.begin(kDataSum, 7, 100);
    name = "gone by now";
  }
  const auto found = recorder.under_way();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->str(), "all-reduce of 4.0 MiB in the data group (step 12, block.4)");
  EXPECT_EQ(found->turn, 7);
  EXPECT_EQ(found->begun, 100);
  recorder.end(103);
  EXPECT_FALSE(recorder.under_way());
  ASSERT_EQ(recorder.kept().size(), 1u);
  EXPECT_EQ(recorder.kept()[0].ended, 103);
}

TEST(FlightRecorder, KnowsWhatFollowedWhatInEarlierSteps) {
  FlightRecorder recorder;
  const auto step = [&](int64_t number, const std::vector<const char*>& parts) {
    const WhereScope here = WhereScope::step(number);
    for (const char* part : parts) {
      const WhereScope there = WhereScope::part(part);
      recorder.begin(kDataSum, 1, 0);
      recorder.end(1);
    }
  };
  EXPECT_EQ(recorder.new_in_step(), 0);
  step(1, {"a", "b", "c"});
  EXPECT_EQ(recorder.new_in_step(), 1);
  step(2, {"a", "b", "c"});
  EXPECT_EQ(recorder.new_in_step(), 2) << "a had not come after c";
  for (int64_t number = 3; number < 9; ++number) step(number, {"a", "b", "c"});
  EXPECT_EQ(recorder.new_in_step(), 2);
  step(9, {"a", "c"});
  EXPECT_EQ(recorder.new_in_step(), 9);
  EXPECT_EQ(recorder.step(), 9);
}

TEST(FlightRecorder, LimitsFollowThePhasesThatAreOver) {
  FlightRecorder recorder;
  EXPECT_EQ(recorder.limit("training"), FlightRecorder::kFirstLimit);
  recorder.took("training", 5);
  EXPECT_EQ(recorder.limit("training"), FlightRecorder::kLeastLimit);
  recorder.took("training", 30);
  recorder.took("training", 20);
  EXPECT_EQ(recorder.limit("training"), 90);
  EXPECT_EQ(recorder.limit("saving"), FlightRecorder::kFirstLimit);
  EXPECT_EQ(recorder.limit(""), FlightRecorder::kFirstLimit);
}

TEST(FlightRecorder, WhatAThreadDoesIsAPhase) {
  std::thread([] {
    const FlightRecorder& own = *FlightRecorder::of_this_thread();
    {
      const TimedPhase saving("saving");
      EXPECT_STREQ(own.phase(), "saving");
      const InFlight here(kDataSum, 3);
      EXPECT_EQ(own.under_way()->str(), "all-reduce of 4.0 MiB in the data group (saving)");
      EXPECT_EQ(own.under_way()->line(),
                "       1        3  all-reduce of 4.0 MiB in the data group (saving)  under way");
      const WhereScope step = WhereScope::step(4), block = WhereScope::part("block.2");
      EXPECT_STREQ(where().phase, "saving");
      EXPECT_EQ(own.limit("saving"), FlightRecorder::kFirstLimit) << "it is not over";
    }
    EXPECT_EQ(own.limit("saving"), FlightRecorder::kLeastLimit);
    EXPECT_STREQ(where().phase, "");
    EXPECT_GT(own.waited(), 0);
  }).join();
}

TEST(FlightRecorder, KeepsTheLastOnes) {
  FlightRecorder recorder;
  for (int i = 0; i < 100; ++i) {
    recorder.begin(kDataSum, i, i);
    recorder.end(i + 0.5);
  }
  const auto kept = recorder.kept();
  ASSERT_EQ(kept.size(), FlightRecorder::kKept);
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].number, 69 + static_cast<int64_t>(i));
    EXPECT_EQ(kept[i].turn, 68 + static_cast<int64_t>(i));
  }
}

// Every field of an entry says the same number: a torn one would not.
TEST(FlightRecorder, NoReaderSeesHalfAnExchange) {
  FlightRecorder recorder;
  std::atomic<bool> over = false;
  std::thread writer([&] {
    for (int64_t i = 1; !over; ++i) {
      const WhereScope step = WhereScope::step(i);
      recorder.begin({"all-reduce", "data", i}, i, static_cast<double>(i));
      recorder.end(static_cast<double>(i));
    }
  });
  int64_t seen = 0;
  while (seen < 50000)
    for (const auto& entry : recorder.kept()) {
      ++seen;
      EXPECT_EQ(entry.exchange.bytes, entry.number);
      EXPECT_EQ(entry.where.step, entry.number);
      EXPECT_EQ(entry.turn, entry.number);
      EXPECT_EQ(entry.begun, static_cast<double>(entry.number));
    }
  over = true;
  writer.join();
}

// One entry for what a caller asks of a group, however it is made; alike on all of its ranks.
TEST(FlightRecorder, CollectivesAreRecordedOnce) {
  run_ranks(3, [](Group& world) {
    world.set_name("data", 0);
    const auto& recorder = *FlightRecorder::of_this_thread();
    const Tensor large = Tensor::zeros({300000}, DType::f32);
    world.all_reduce_sum(large).wait();
    world.barrier();
    world.sum(1.0);
    const Tensor own = Tensor::zeros({4}, DType::f32);
    Work sent = world.send(own, (world.rank() + 1) % 3, 5);
    world.recv(own, (world.rank() + 2) % 3, 5).wait();
    sent.wait();
    std::vector<std::string> found;
    for (const auto& entry : recorder.kept())
      found.push_back(fmt::format("{} {}", entry.turn, entry.exchange.str()));
    ASSERT_GE(found.size(), 5u);
    found.erase(found.begin(), found.end() - 5);
    EXPECT_EQ(found, (std::vector<std::string>{
                         "1 all-reduce of 1.1 MiB in the data group", "2 barrier in the data group",
                         "3 all-gather of 24 bytes in the data group",
                         fmt::format("0 receive of 16 bytes from rank {} of the data group",
                                     (world.rank() + 2) % 3),
                         fmt::format("0 send of 16 bytes to rank {} of the data group",
                                     (world.rank() + 1) % 3)}));
  });
}

}  // namespace
}  // namespace skein
