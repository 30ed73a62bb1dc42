// State that ranks hold alike: a bit that flips on one of them is found and named.
#include "skein/train/watch/replicas.h"

#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <mutex>
#include <random>
#include <set>

#include "skein/core/host.h"
#include "skein/train/replica.h"
#include "skein/train/run.h"

#include "support/damage.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

Tensor full(const Shape& shape, double value, DType dtype) {
  return Tensor::from(
             std::vector<float>(static_cast<size_t>(shape.size()), static_cast<float>(value)),
             shape)
      .to(dtype);
}

void flip(const Tensor& tensor, int64_t bit) {
  tensor.bytes_data()[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
}

// The error that all ranks of the shape meet; "" where there is none.
std::string error_of(const MeshShape& shape, const std::function<void(Mesh&)>& work) {
  std::mutex mutex;
  std::set<std::string> met;
  run_ranks(shape.ranks(), [&](Group& world) {
    Mesh mesh(world, shape);
    std::string text;
    try {
      work(mesh);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::failure);
      text = error.what();
    }
    const std::lock_guard lock(mutex);
    met.insert(text);
  });
  EXPECT_EQ(met.size(), 1u) << "all ranks meet the same";
  return *met.begin();
}

std::string rank_text(int rank) { return fmt::format("rank {} (host {})", rank, host_name()); }

TEST(Replicas, OneOfThreeThatDiffersIsNamed) {
  const auto work = [](int odd) {
    return [odd](Mesh& mesh) {
      std::vector<Replicated> all{{"param/a", full({5000}, 1, DType::f32), true},
                                  {"param/b", full({7}, 2, DType::bf16), true},
                                  {"param/c", full({100}, 2, DType::bf16), true}};
      if (mesh.world().rank() == odd) flip(all[1].held, 7 * 16 - 1), flip(all[2].held, 0);
      check_replicas(all, mesh);
    };
  };
  EXPECT_EQ(error_of({1, 3, 1}, work(-1)), "");
  for (int odd = 0; odd < 3; ++odd) {
    const std::string error = error_of({1, 3, 1}, work(odd));
    EXPECT_EQ(
        error.find(rank_text(odd) + " differs from the rest of the 3 ranks that hold the same "
                                    "of param/b: other bits are there"),
        0u)
        << error;
  }
}

TEST(Replicas, OfTwoBothAreNamed) {
  const std::string error = error_of({2, 1, 2}, [](Mesh& mesh) {
    const Replicated one{"exp_avg/norm", Tensor::zeros({8}, DType::f32), false, true};
    if (mesh.world().rank() == 3) flip(one.held, 77);
    check_replicas({one}, mesh);
  });
  EXPECT_EQ(error.find(rank_text(2) + " and " + rank_text(3) +
                       " differ among the 2 ranks that hold the same of exp_avg/norm"),
            0u)
      << error;
}

TEST(Replicas, WhatRanksDivideIsNotCompared) {
  EXPECT_EQ(error_of({1, 2, 2},
                     [](Mesh& mesh) {
                       const double own = mesh.world().rank(), shard = mesh.tp().rank();
                       check_replicas({{"a", full({8}, own, DType::f32)},
                                       {"b", full({8}, shard, DType::f32), true}},
                                      mesh);
                     }),
            "");
}

struct Flip {
  bool zero = true;
  DType dtype = DType::f32;
  MeshShape shape;
  uint64_t seed = 0;
};

// After a step, a random bit of what one rank holds like others flips.
std::string error_of_a_replica(const Flip& given, std::string& flipped) {
  PretrainConfig c = small_config("unused.h5");
  c.model.vocab_size = 64;
  c.train.global_batch = 12;
  c.parallel.reduction_groups = 0;
  c.parallel.zero = given.zero;
  c.parallel.tensor = given.shape.tp;
  c.train.precision = given.dtype;
  return error_of(given.shape, [&](Mesh& mesh) {
    const BatchPlan plan =
        plan_batch(c.parallel, given.shape, c.train.global_batch, c.train.micro_batch);
    Replica replica(c, plan, mesh);
    replica.step(some_batch(c.train.global_batch / given.shape.dp, c.model), 0, 1e-3);
    const auto all = replica.optimizer().replicated();
    check_replicas(all, mesh);
    std::mt19937_64 random(given.seed);
    const auto odd = static_cast<int>(random() % static_cast<uint64_t>(given.shape.ranks()));
    std::vector<Replicated> shared;
    for (const Replicated& one : all)
      if ((one.over_data && given.shape.dp > 1) || (one.over_shards && given.shape.tp > 1) ||
          (one.over_stages && given.shape.pp > 1))
        shared.push_back(one);
    const Replicated& one = shared[random() % shared.size()];
    if (mesh.world().rank() == odd) {
      flip(one.held, static_cast<int64_t>(random() % static_cast<uint64_t>(8 * one.held.bytes())));
      flipped = one.name;
    }
    check_replicas(replica.optimizer().replicated(), mesh);
  });
}

// Learns nothing; on rank 1 a bit flips in step 6.
class FlippingLearner : public Learner {
 public:
  explicit FlippingLearner(Run& run) : run_(run) {}

  void advance() override {
    if (++run_.state().step == 6 && run_.world().rank() == 1) flip(held_, 100);
  }
  bool validates() const override { return false; }
  bool evaluation_due() const override { return false; }
  bool evaluates_end() const override { return false; }
  Scores score(Meeting&) override { return {}; }
  std::vector<checkpoint::Piece> tensors() override { return {}; }
  std::vector<checkpoint::Piece> best_weights() override { return {}; }
  std::vector<Replicated> replicated() override { return {{"param/a", held_, true}}; }
  std::string state_text() override { return ""; }

 private:
  Run& run_;
  Tensor held_ = full({8}, 1, DType::f32);
};

TEST(Replicas, ARunComparesThemAfterSoManySteps) {
  for (const int64_t every : {0, 3, 4, 5}) {
    std::atomic<int64_t> made = 0;
    const std::string error = error_of({1, 2, 1}, [&](Mesh& mesh) {
      PretrainConfig c = small_config("unused.h5");
      c.run.check_replicas = every;
      train::Run run(c, {"step", "train.steps", "", "", ""}, 20, mesh.world(), nullptr);
      run.set_data({});
      run.open("", false);
      FlippingLearner learner(run);
      try {
        run.to_end(learner);
      } catch (...) {
        made = run.state().step;
        throw;
      }
    });
    EXPECT_EQ(error.find("param/a") != std::string::npos, every > 0) << error;
    const int64_t next = every == 0 ? 0 : (6 + every - 1) / every * every;
    EXPECT_EQ(made, next) << every;
  }
}

TEST(Replicas, ABitOfATrainedReplicaIsFound) {
  uint64_t seed = 0;
  for (const MeshShape shape :
       {MeshShape{1, 2, 1}, MeshShape{1, 1, 2}, MeshShape{1, 3, 1}, MeshShape{2, 1, 1}})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const bool zero : {true, false})
        for (int time = 0; time < test::damages(4); ++time) {
          std::string flipped;
          const std::string error = error_of_a_replica({zero, dtype, shape, ++seed}, flipped);
          EXPECT_NE(error.find("the same of " + flipped + ":"), std::string::npos)
              << flipped << " in: " << error;
        }
}

std::vector<std::byte> bytes_of(const std::vector<Replicated>& all) {
  std::vector<std::byte> bytes;
  for (const Replicated& one : all)
    bytes.insert(bytes.end(), one.held.bytes_data(), one.held.bytes_data() + one.held.bytes());
  return bytes;
}

// A weight of a layer becomes NaN on one rank, and a step is made.
void expect_no_rank_changes(const MeshShape& shape, uint64_t seed) {
  PretrainConfig c = small_config("unused.h5");
  c.model.vocab_size = 64;
  c.train.global_batch = 12;
  c.parallel.reduction_groups = 0;
  c.parallel.zero = false;  // else weights are gathered from their owners once more
  c.parallel.tensor = shape.tp;
  run_ranks(shape.ranks(), [&](Group& world) {
    Mesh mesh(world, shape);
    const BatchPlan plan = plan_batch(c.parallel, shape, c.train.global_batch, c.train.micro_batch);
    Replica replica(c, plan, mesh);
    const data::Batch batch = some_batch(c.train.global_batch / shape.dp, c.model);
    EXPECT_TRUE(std::isfinite(replica.step(batch, 0, 1e-3).grad_norm));
    std::mt19937_64 random(seed);
    const auto odd = static_cast<int>(random() % static_cast<uint64_t>(shape.ranks()));
    std::vector<Tensor> layers;
    for (const Replicated& one : replica.optimizer().replicated())
      if (one.name.starts_with("param/block.")) layers.push_back(one.held);
    const Tensor& layer = layers[random() % layers.size()];
    if (world.rank() == odd)
      layer.data<float>()[random() % static_cast<uint64_t>(layer.size())] =
          std::numeric_limits<float>::quiet_NaN();
    const auto before = bytes_of(replica.optimizer().replicated());
    EXPECT_FALSE(std::isfinite(replica.step(batch, 1, 1e-3).grad_norm));
    EXPECT_EQ(bytes_of(replica.optimizer().replicated()), before);
    EXPECT_EQ(replica.optimizer().steps(), 1);
  });
}

TEST(Replicas, ALayerThatIsNotFiniteOnOneRankChangesNone) {
  uint64_t seed = 0;
  for (const MeshShape shape :
       {MeshShape{1, 4, 1}, MeshShape{1, 1, 2}, MeshShape{2, 1, 1}, MeshShape{2, 2, 1}})
    for (int time = 0; time < test::damages(3); ++time) expect_no_rank_changes(shape, ++seed);
}

}  // namespace
}  // namespace skein::train
