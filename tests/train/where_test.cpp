// A message about an exchange that hangs can say where in the step it belongs.
#include "skein/core/where.h"

#include <gtest/gtest.h>
#include <mutex>
#include <set>

#include "skein/train/replica.h"

#include "comm/passing_group.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

// The locations of all exchanges, of every rank and group.
struct Locations {
  void add() {
    const std::lock_guard lock(mutex);
    seen.insert(where().str());
  }
  std::mutex mutex;
  std::set<std::string> seen;
};

// Passes everything on and notes where its caller is.
class Noting : public test::PassingGroup {
 public:
  Noting(Group& group, Locations& locations) : PassingGroup(group), locations_(locations) {}
  Noting(std::unique_ptr<Group> group, Locations& locations)
      : PassingGroup(std::move(group)), locations_(locations) {}
  std::unique_ptr<Group> split(int color, int key) override {
    return std::make_unique<Noting>(PassingGroup::split(color, key), locations_);
  }

 private:
  Group& next() override {
    locations_.add();
    return PassingGroup::next();
  }

  Locations& locations_;
};

std::set<std::string> locations_of_a_step(PretrainConfig c, const MeshShape& shape) {
  c.model.vocab_size = 64;
  c.train.micro_batch = 4;
  c.parallel.reduction_groups = 2;
  c.parallel.pipeline = shape.pp;
  c.parallel.tensor = shape.tp;
  Locations locations;
  run_ranks(shape.ranks(), [&](Group& world) {
    Noting noting(world, locations);
    Mesh mesh(noting, shape);
    Replica replica(c, plan_batch(c.parallel, shape, c.train.global_batch, c.train.micro_batch),
                    mesh);
    replica.step(some_batch(c.train.global_batch / shape.dp, c.model), 6, 1e-4);
  });
  return locations.seen;
}

TEST(WhereInAStep, EveryLayerAndMicroBatchIsNamed) {
  for (const Recompute recompute : {Recompute::none, Recompute::full, Recompute::selective}) {
    PretrainConfig c = small_config("unused.h5");
    c.parallel.recompute = recompute;
    const auto seen = locations_of_a_step(c, {1, 1, 2});
    for (int m = 0; m < 4; ++m)
      for (const char* part : {"embedding", "block.0", "block.3", "head"})
        EXPECT_TRUE(seen.contains(fmt::format("step 7, micro-batch {}, {}", m, part)))
            << m << " " << part;
    EXPECT_FALSE(seen.contains("step 7, micro-batch 0")) << "a sum of a layer nobody named";
  }
}

TEST(WhereInAStep, BucketsAndStagesAreNamed) {
  const auto seen = locations_of_a_step(small_config("unused.h5"), {2, 2, 1});
  for (const char* location :
       {"step 7, micro-batch 0", "step 7, micro-batch 1", "step 7, block.0", "step 7, block.3",
        "step 7, embedding.tokens", "step 7, head", "step 7, gradient norm"})
    EXPECT_TRUE(seen.contains(location)) << location;
}

}  // namespace
}  // namespace skein::train
