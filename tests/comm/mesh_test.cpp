#include "skein/comm/mesh.h"

#include <gtest/gtest.h>
#include <vector>

#include "skein/comm/local.h"

#include "support/expect_error.h"

namespace skein {
namespace {

using Values = std::vector<double>;

std::string mesh_error(int ranks, MeshShape shape) {
  return refusal_of([&] { run_ranks(ranks, [&](Group& world) { Mesh mesh(world, shape); }); });
}

TEST(Mesh, TensorPeersAreNeighbours) {
  run_ranks(8, [](Group& world) {
    const Mesh mesh(world, {.pp = 2, .dp = 2, .tp = 2});
    const int rank = world.rank();
    EXPECT_EQ(mesh.tp().rank(), rank % 2);
    EXPECT_EQ(mesh.dp().rank(), rank / 2 % 2);
    EXPECT_EQ(mesh.pp().rank(), rank / 4);
    EXPECT_EQ(mesh.stage(), rank / 4);
    EXPECT_EQ(mesh.first_stage(), rank < 4);
    EXPECT_EQ(mesh.last_stage(), rank >= 4);
    EXPECT_EQ(&mesh.world(), &world);
    const double own = rank, tp_base = rank / 2 * 2, dp_base = rank / 4 * 4 + rank % 2,
                 pp_base = rank % 4;
    EXPECT_EQ(mesh.tp().all_gather(own), (Values{tp_base, tp_base + 1}));
    EXPECT_EQ(mesh.dp().all_gather(own), (Values{dp_base, dp_base + 2}));
    EXPECT_EQ(mesh.pp().all_gather(own), (Values{pp_base, pp_base + 4}));
  });
}

// What is not of the last stage plays no part.
TEST(Mesh, SharesWhatTheLastStagesHave) {
  run_ranks(12, [](Group& world) {
    const Mesh mesh(world, {.pp = 3, .dp = 2, .tp = 2});
    const auto found = [&] {
      const double own = mesh.last_stage() ? mesh.dp().rank() + 10 * mesh.tp().rank() : 1000;
      return Tensor::from(Values{own, 0.1}, {2});
    };
    const Tensor sum = found(), shared = found();
    mesh.share_results(sum);
    EXPECT_EQ(sum.data<double>()[0], 1 + 20 * mesh.tp().rank());
    EXPECT_EQ(sum.data<double>()[1], 0.2);
    mesh.share_last_stage(shared);
    EXPECT_EQ(shared.data<double>()[0], mesh.dp().rank() + 10 * mesh.tp().rank());
    EXPECT_EQ(shared.data<double>()[1], 0.1);
  });
}

TEST(Mesh, CoordinatesGiveBackTheRank) {
  for (const MeshShape shape : {MeshShape{1, 1, 6}, MeshShape{1, 6, 1}, MeshShape{6, 1, 1},
                                MeshShape{3, 1, 2}, MeshShape{1, 2, 3}, MeshShape{2, 3, 1}})
    run_ranks(6, [&](Group& world) {
      const Mesh mesh(world, shape);
      EXPECT_EQ(mesh.shape(), shape);
      EXPECT_EQ(mesh.pp().size(), shape.pp);
      EXPECT_EQ(mesh.dp().size(), shape.dp);
      EXPECT_EQ(mesh.tp().size(), shape.tp);
      EXPECT_EQ(mesh.rank_at(mesh.pp().rank(), mesh.dp().rank(), mesh.tp().rank()), world.rank());
    });
}

TEST(Mesh, OfOneRankHasGroupsOfOne) {
  const auto world = single_rank();
  const Mesh mesh(*world, {});
  EXPECT_EQ(mesh.pp().size() * mesh.dp().size() * mesh.tp().size(), 1);
  EXPECT_TRUE(mesh.first_stage());
  EXPECT_TRUE(mesh.last_stage());
}

TEST(Mesh, AWrongNumberOfRanksNamesWhatFits) {
  test::expect_words(
      mesh_error(4, {.pp = 2, .dp = 3, .tp = 1}),
      {"pp 2 x dp 3 x tp 1", "needs 6 ranks", "has 4", "mpirun -np 6", "data-parallel size to 2"});
  test::expect_words(mesh_error(3, {.pp = 1, .dp = 1, .tp = 2}),
                     {"pp 1 x dp 1 x tp 2", "needs 2 ranks", "has 3", "mpirun -np 2",
                      "no data-parallel size fits 3", "= 2"});
  test::expect_words(mesh_error(2, {.pp = 1 << 30, .dp = 1 << 30, .tp = 1 << 30}),
                     {"ranks, but this job has 2"});
}

TEST(Mesh, ASizeBelowOneIsRefused) {
  test::expect_words(mesh_error(1, {.pp = 0, .dp = 1, .tp = 1}),
                     {"pp 0 x dp 1 x tp 1", "at least 1"});
  test::expect_words(mesh_error(1, {.pp = -1, .dp = -1, .tp = 1}), {"pp -1 x dp -1", "at least 1"});
}

TEST(Mesh, WarnsOfTensorParallelRanksOnSeveralHosts) {
  EXPECT_EQ(spread_warning({"a", "a", "a", "a"}), "");
  const std::string text = spread_warning({"a", "b", "a", "b"});
  for (const char* part : {"the 4 tensor-parallel ranks of a group are on 2 hosts (a, b)",
                           "--map-by slot", "parallel.tensor=2 at most"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST(Mesh, WarnsOfAGpuThatOthersUse) {
  constexpr int64_t kGiB = 1 << 30;
  EXPECT_EQ(taken_warning(79 * kGiB, 80 * kGiB), "");
  EXPECT_NE(taken_warning(50 * kGiB, 80 * kGiB).find("30.0 GiB of 80.0 GiB are already taken"),
            std::string::npos);
}

// Of the data group {5, 7} one has been in an exchange and the other has not.
TEST(Mesh, FindsWhoLeftOutAnExchange) {
  std::string told;
  try {
    run_ranks(8, [](Group& world) {
      const Mesh mesh(world, {.pp = 2, .dp = 2, .tp = 2});
      EXPECT_EQ(mesh.tp().sum(1.0), 2);
      mesh.check_in_step();
      if (world.rank() == 7) mesh.dp().trade({}).wait();
      mesh.check_in_step();
    });
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
    told = error.what();
  }
  test::expect_words(told, {"rank 7 has been in 1 exchanges of the data group and rank 5 in 0",
                            "the ranks are not in the same exchange"});
}

}  // namespace
}  // namespace skein
