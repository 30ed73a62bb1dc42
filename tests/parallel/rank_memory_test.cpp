#include "skein/parallel/rank_memory.h"

#include <gtest/gtest.h>

#include "skein/core/strings.h"

namespace skein {
namespace {

constexpr double kMiB = 1 << 20;

ModelConfig small_model() {
  ModelConfig made;
  made.n_layers = 4;
  made.n_heads = 4;
  made.d_model = 64;
  return made;
}

// 2^20 parameters on each of four data-parallel ranks.
MemoryShape four_ranks() {
  MemoryShape made{.parameters = kMiB, .dtype = DType::bf16, .optimizer_bytes = 12};
  made.parallel.data = 4;
  made.micro_batch = 8;
  made.micro_batches = 8;
  made.sums_per_rank = 8;
  made.tokens = 128;
  return made;
}

RankMemory memory_of(const MemoryShape& shape) {
  Parameters blocks(shape.dtype, 0, shape.parallel.tensor);
  describe_fullest_rank(small_model(), shape.parallel, blocks);
  return estimated_memory(shape, blocks);
}

TEST(RankMemory, CountsWhatARankHolds) {
  MemoryShape shape = four_ranks();
  RankMemory found = memory_of(shape);
  EXPECT_EQ(found.values, 2 * kMiB);
  EXPECT_EQ(found.gradients, 4 * kMiB);
  EXPECT_EQ(found.waiting, 3 * 4 * kMiB) << "a binary counter of 8 groups";
  EXPECT_EQ(found.optimizer, 12 * kMiB / 4);
  shape.strided = true;
  EXPECT_EQ(memory_of(shape).waiting, 3 * kMiB);
  shape.strided = false;
  shape.parallel.zero = false;
  EXPECT_EQ(memory_of(shape).optimizer, 12 * kMiB);
  // Twice the stages hold half the blocks of twice the micro-batches.
  shape.parallel.pipeline = 2;
  EXPECT_EQ(memory_of(shape).activations, found.activations);
  shape.micro_batches = 1;
  EXPECT_EQ(memory_of(shape).activations, found.activations / 2);
  shape.parallel.recompute = Recompute::full;
  EXPECT_LT(memory_of(shape).activations, found.activations / 2);
  EXPECT_EQ(found.total(), found.values + found.gradients + found.waiting + found.optimizer +
                               found.packed + found.activations + found.work);
}

TEST(RankMemory, CountsLogitsAndWhatAWeightsGradientIsAddedIn) {
  MemoryShape shape = four_ranks();
  const double without = memory_of(shape).work;
  shape.head = {100000, 64, 1};
  EXPECT_GT(memory_of(shape).work, without);
  const double rows = 288;  // 1024, but for 128 MiB at once, and a multiple of 96
  EXPECT_EQ(memory_of(shape).work, rows * 100000 * (4 + 2) + 2 * 1024 * 64 * 2);
  shape.groups_per_micro_batch = 8;
  EXPECT_EQ(memory_of(shape).work,
            128 * 100000.0 * (4 + 2) + 4 * 100000 * 64 * 4.0 + 2 * 1024 * 64 * 2)
      << "three sums wait while the fourth is made";
  shape.reused = 6400000;
  EXPECT_EQ(memory_of(shape).gradients, 4 * (kMiB + 6400000));
}

// 1024 rows of bf16 are the most.
TEST(RankMemory, CountsPackedWeightsOfFewRows) {
  MemoryShape shape = four_ranks();
  const double blocks = 4 * 12 * 64 * 64;
  EXPECT_EQ(memory_of(shape).packed, 2 * 2 * blocks);
  shape.head = {100000, 64, 1};
  EXPECT_EQ(memory_of(shape).packed, 2 * 2 * (blocks + 6400000));
  shape.micro_batch = 9;
  EXPECT_EQ(memory_of(shape).packed, 2 * 2 * 6400000) << "logits exist for few rows at a time";
  shape.parallel.device = DeviceKind::cuda;
  EXPECT_EQ(memory_of(shape).packed, 0);
}

TEST(RankMemory, CountsASnapshotBesideTrainingOrInItsPlace) {
  MemoryShape shape = four_ranks();
  const double without = memory_of(shape).total();
  const auto total = [&](Snapshot place) {
    shape.snapshot = place;
    return memory_of(shape).total();
  };
  EXPECT_EQ(total(Snapshot::beside), without + 12 * kMiB / 4);
  EXPECT_EQ(total(Snapshot::on_host), without);
  EXPECT_EQ(total(Snapshot::waited_for), without) << "activations take more";
  shape.parameters = 100 * kMiB;
  const RankMemory found = memory_of(shape);
  EXPECT_EQ(found.total(), found.kept() + found.packed + 300 * kMiB);
  EXPECT_NE(
      memory_advice(small_model(), shape).find("in place of these two a snapshot of 300.0 MiB"),
      std::string::npos);
  shape.dtype = DType::f32;
  shape.optimizer_bytes = 8;
  shape.frozen = 4 * kMiB;
  EXPECT_EQ(memory_of(shape).snapshot, 304 * kMiB) << "values are in the file, too";
}

TEST(RankMemory, AdviceNamesHalfPrecisionWhereActivationsAreMost) {
  MemoryShape shape = four_ranks();
  shape.dtype = DType::f32;
  shape.optimizer_bytes = 8;
  shape.parameters = 1;
  shape.micro_batch = 16;
  const std::string half = readable_size(memory_of(shape).total() / 2);
  EXPECT_NE(memory_advice(small_model(), shape).find(half + " with train.precision=bf16"),
            std::string::npos)
      << memory_advice(small_model(), shape);
  shape.parameters = 100 * kMiB;
  shape.parallel.zero = false;
  EXPECT_EQ(memory_advice(small_model(), shape).find("train.precision"), std::string::npos)
      << "masters take more than values give back";
}

TEST(RankMemory, AdviceNamesWhatWouldNeedLess) {
  MemoryShape shape = four_ranks();
  shape.parallel.zero = false;
  const std::string text = memory_advice(small_model(), shape);
  for (const char* part :
       {"values 2.0 MiB, gradients 4.0 MiB, sums of groups 12.0 MiB, optimizer 12.0 MiB",
        "with parallel.zero=true", "with parallel.group_order=strided",
        "with parallel.reduction_groups=4", "with parallel.recompute=selective",
        "with parallel.recompute=full", "with train.micro_batch=4",
        "with parallel.tensor=2 on twice the ranks", "with parallel.pipeline=2 on twice the ranks"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

// gpipe keeps all 32 micro-batches of the step, 1f1b as many as there are stages.
TEST(RankMemory, CountsTheMicroBatchesThatAScheduleKeeps) {
  MemoryShape shape = four_ranks();
  shape.parallel.pipeline = 2;
  shape.micro_batches = 32;
  const double few = memory_of(shape).activations;
  shape.parallel.schedule = ScheduleKind::gpipe;
  EXPECT_EQ(memory_of(shape).activations, 16 * few);
  EXPECT_NE(memory_advice(small_model(), shape).find("with parallel.schedule=1f1b,"),
            std::string::npos);
  shape.parallel.schedule = ScheduleKind::interleaved;
  shape.parallel.chunks = 2;
  EXPECT_EQ(memory_of(shape).activations, 2.5 * few / 2) << "five halves";
  EXPECT_NE(memory_advice(small_model(), shape).find("1f1b and parallel.chunks=1"),
            std::string::npos);
  shape.stage = 1;
  EXPECT_EQ(memory_of(shape).activations, 1.5 * few / 2);
  shape.parallel.chunks = 1;
  shape.parallel.recompute = Recompute::full;
  shape.stage = 0;
  const double two = memory_of(shape).activations;
  shape.micro_batches = 1;
  EXPECT_GT(2 * memory_of(shape).activations, two) << "one block at a time is made again";
}

// Their sums wait for each other then, which may take more than the activations give back.
TEST(RankMemory, HalfOfAMicroBatchOfSeveralGroupsKeepsMoreSums) {
  MemoryShape shape = four_ranks();
  shape.parameters = 8 * kMiB;
  shape.micro_batches = 1;
  shape.sums_per_rank = 1;
  shape.groups_per_micro_batch = 8;
  EXPECT_EQ(memory_advice(small_model(), shape).find("train.micro_batch=4"), std::string::npos);
  shape.groups_per_micro_batch = 3;
  shape.parameters = 1;
  EXPECT_EQ(memory_advice(small_model(), shape).find("train.micro_batch"), std::string::npos)
      << "half of three groups is none";
  shape.groups_per_micro_batch = 1;
  EXPECT_NE(memory_advice(small_model(), shape).find("train.micro_batch=4"), std::string::npos);
}

TEST(RankMemory, AdviceLeavesOutWhatCannotBeOrIsSo) {
  MemoryShape shape = four_ranks();
  shape.parallel.recompute = Recompute::full;
  shape.parallel.tensor = 4;    // of 4 heads
  shape.parallel.pipeline = 4;  // of 4 layers
  shape.micro_batch = 1;
  shape.sums_per_rank = 1;
  const std::string text = memory_advice(small_model(), shape);
  EXPECT_EQ(text.find("It would need"), std::string::npos) << text;
  EXPECT_EQ(text.find("sums of groups"), std::string::npos) << text;
}

}  // namespace
}  // namespace skein
