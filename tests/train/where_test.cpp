// A message about an exchange that hangs can say where in the step it belongs.
#include "skein/core/where.h"

#include <gtest/gtest.h>
#include <mutex>
#include <set>

#include "skein/train/replica.h"

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
class Noting : public Group {
 public:
  Noting(Group& group, Locations& locations) : group_(group), locations_(locations) {}
  Noting(std::unique_ptr<Group> group, Locations& locations)
      : own_(std::move(group)), group_(*own_), locations_(locations) {}
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  Work send_bytes(const std::byte* data, int64_t bytes, int peer, int tag) override {
    return noted().send_bytes(data, bytes, peer, tag);
  }
  Work recv_bytes(std::byte* data, int64_t bytes, int peer, int tag) override {
    return noted().recv_bytes(data, bytes, peer, tag);
  }
  Work all_gather_bytes(const std::byte* in, std::byte* out, int64_t bytes) override {
    return noted().all_gather_bytes(in, out, bytes);
  }
  Work all_to_all_bytes(const std::byte* in, std::byte* out, int64_t bytes) override {
    return noted().all_to_all_bytes(in, out, bytes);
  }
  Work broadcast_bytes(std::byte* data, int64_t bytes, int root) override {
    return noted().broadcast_bytes(data, bytes, root);
  }
  void barrier() override { group_.barrier(); }
  std::unique_ptr<Group> split(int color, int key) override {
    return std::make_unique<Noting>(group_.split(color, key), locations_);
  }
  void abort(int exit_code) override { group_.abort(exit_code); }

 private:
  Group& noted() {
    locations_.add();
    return group_;
  }

  std::unique_ptr<Group> own_;
  Group& group_;
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
