#include "skein/parallel/buckets.h"

#include <bit>
#include <cmath>
#include <mutex>

#include "skein/comm/local.h"
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/parallel/layout.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

using test::random_tensor;

Parameter& add(Parameters& parameters, const std::string& bucket, const std::string& name,
               const Shape& shape, Split split = Split::none) {
  parameters.enter(bucket, 0);
  return parameters.add({name, shape, split, {Start::normal, 1.0}});
}

// The gradient of a group: numbers whose sum depends on its order.
Tensor group_gradient(int group, const Shape& shape) {
  return random_tensor(shape, 1000 + static_cast<uint64_t>(group), DType::f32,
                       std::pow(10, group % 4));
}

// The sum over all groups as rank 0 of `ranks` sees it.
Tensor summed(int ranks, bool everywhere, int groups = 8, bool strided = false) {
  const int per_rank = groups / ranks;
  const Shape shape{1500};
  Tensor result;
  run_ranks(ranks, [&](Group& world) {
    Mesh mesh(world, {1, ranks, 1});
    Parameters parameters(DType::f32, 0, 1);
    const Parameter& p = add(parameters, "one", "p", shape);
    Buckets buckets(parameters, mesh, {per_rank, strided});
    buckets.begin_step(per_rank);
    for (int i = 0; i < per_rank; ++i) {
      const int group = strided ? i * ranks + world.rank() : world.rank() * per_rank + i;
      const Tensor own = group_gradient(group, shape);
      for (int64_t j = 0; j < 1500; ++j) p.gradient.data<float>()[j] += own.data<float>()[j];
      buckets.end_group(i, 0, 0);
    }
    buckets.finish(everywhere);
    if (!everywhere) {  // each rank has its own slice only
      const auto& bucket = buckets.all().front();
      const Tensor slice =
          bucket.gradients.flat(buckets.own_begin(bucket), buckets.own_size(bucket)).clone();
      world.all_gather(slice, bucket.gradients).wait();
    }
    if (world.rank() == 0) result = p.gradient.clone();
  });
  return result;
}

TEST(Buckets, SumGroupsInOneTreeAtAnyDataParallelSize) {
  const Tensor expected = summed(1, true);
  for (int ranks : {1, 2, 4, 8})
    for (bool everywhere : {true, false})
      EXPECT_EQ(test::bytes_of(summed(ranks, everywhere)), test::bytes_of(expected))
          << ranks << everywhere;
  double left_fold = 0;
  int differences = 0;
  for (int64_t j = 0; j < 1500; ++j) {
    float fold = 0;
    for (int g = 0; g < 8; ++g) fold += group_gradient(g, {1500}).data<float>()[j];
    differences += fold != expected.data<float>()[j];
    left_fold += fold;
  }
  EXPECT_GT(differences, 100) << "these numbers would not show another order";
}

// The tree of n groups by its definition (comm/group.h), for element j.
float sum_of_groups(int begin, int end, int64_t j, const std::vector<Tensor>& groups) {
  if (end - begin == 1) return groups[begin].data<float>()[j];
  const int half = begin + static_cast<int>(std::bit_floor<unsigned>(end - begin - 1));
  return sum_of_groups(begin, half, j, groups) + sum_of_groups(half, end, j, groups);
}

TEST(Buckets, SumAnyNumberOfGroupsInTheTreeOfTheDefinition) {
  for (int groups : {2, 3, 5, 6, 7, 12, 13, 48}) {
    std::vector<Tensor> parts;
    for (int g = 0; g < groups; ++g) parts.push_back(group_gradient(g, {1500}));
    const Tensor found = summed(1, true, groups);
    for (int64_t j = 0; j < 1500; ++j)
      ASSERT_EQ(found.data<float>()[j], sum_of_groups(0, groups, j, parts)) << groups << " " << j;
  }
}

// Neighbours where a rank has a power of two of the groups, turns where ranks are one.
TEST(Buckets, APowerOfTwoOfGroupsAddsAsOneRank) {
  for (int groups : {3, 5, 6, 12, 20, 24})
    for (int ranks = 1; ranks <= groups; ++ranks) {
      if (groups % ranks != 0) continue;
      const auto equal = [&](bool strided) {
        return test::bytes_of(summed(ranks, ranks % 2 == 0, groups, strided)) ==
               test::bytes_of(summed(1, true, groups));
      };
      const bool neighbours = adds_as_one_rank(GroupOrder::contiguous, groups, ranks),
                 turns = std::has_single_bit(static_cast<unsigned>(ranks)) || ranks == groups;
      EXPECT_EQ(equal(false), neighbours) << ranks << " ranks, " << groups;
      EXPECT_EQ(equal(true), turns) << ranks << " ranks, " << groups;
      EXPECT_EQ(adds_as_one_rank(GroupOrder::automatic, groups, ranks), neighbours || turns);
    }
}

TEST(Buckets, InTurnsOnlyOwnSlicesWait) {
  run_ranks(4, [](Group& world) {
    Mesh mesh(world, {1, 4, 1});
    for (const bool strided : {false, true}) {
      Parameters parameters(DType::f32, 0, 1);
      add(parameters, "one", "p", {5000});
      const Buckets buckets(parameters, mesh, {16, strided});
      const Buckets::Bucket& bucket = buckets.all().front();
      ASSERT_EQ(bucket.pending.size(), 4);
      EXPECT_EQ(bucket.pending.front().size(), bucket.size / (strided ? 4 : 1));
    }
  });
}

// Square sum of gradients that are 1 everywhere (0 in padding, as the loss leaves it), for a whole
// GPT, for each parameter.
double square_sum(int pp, int dp, int tp) {
  double sum = 0;
  ModelConfig config;
  config.vocab_size = 67;
  config.context = 8;
  config.d_model = 16;
  config.n_layers = 4;
  std::mutex one;
  run_ranks(pp * dp * tp, [&](Group& world) {
    Mesh mesh(world, {pp, dp, tp});
    Parameters parameters(DType::f32, mesh.tp().rank(), tp);
    const int blocks = 4 / pp, first = blocks * mesh.stage();
    const Gpt gpt(config, {first, first + blocks, mesh.first_stage(), mesh.last_stage(), 0}, false,
                  parameters);
    Buckets buckets(parameters, mesh, {1});
    for (const auto& bucket : buckets.all())
      for (const auto& member : bucket.members)
        for (int64_t i = 0; i < member.valid; ++i)
          member.parameter->gradient.data<float>()[i] = member.parameter->tied() ? 100.0f : 1.0f;
    const double own = *buckets.gradient_square_sum().data<double>();
    const std::lock_guard hold(one);
    if (world.rank() == 0) sum = own;
    EXPECT_TRUE(sum == 0 || own == sum);
  });
  return sum / static_cast<double>(config.parameters());
}

TEST(Buckets, NormCountsEachLogicalElementOnce) {
  EXPECT_EQ(square_sum(1, 1, 1), 1);
  EXPECT_EQ(square_sum(4, 1, 1), 1);
  EXPECT_EQ(square_sum(2, 2, 2), 1);
  EXPECT_EQ(square_sum(1, 1, 4), 1);
  EXPECT_EQ(square_sum(1, 4, 1), 1);
}

TEST(Buckets, TheDecoderOfAnEncoderIsItsEmbedding) {
  ModelConfig config;
  config.architecture = &bert_architecture();
  config.norm_placement = NormPlacement::post;
  config.vocab_size = 67;
  config.context = 8;
  config.d_model = 16;
  config.n_layers = 2;
  for (bool tied : {true, false})
    run_ranks(1, [&](Group& world) {
      config.tie_embeddings = tied;
      Mesh mesh(world, {});
      Parameters parameters(DType::f32, 0, 1);
      const Bert bert(config, {0, 2, true, true, 0}, false, parameters);
      Buckets buckets(parameters, mesh, {1});
      const Parameter &first = *parameters.find("embedding.tokens.weight"),
                      &second = *parameters.find("head.weight");
      EXPECT_EQ(first.value.bytes_data() == second.value.bytes_data(), tied);
    });
}

// Whether the last stage uses the first one's embedding again, both stages must know.
TEST(Buckets, AddUsesOverStagesOnlyWhereTheyAreTied) {
  ModelConfig config;
  config.vocab_size = 67;
  config.context = 8;
  config.d_model = 16;
  config.n_layers = 2;
  for (bool tied : {true, false})
    run_ranks(2, [&](Group& world) {
      config.tie_embeddings = tied;
      Mesh mesh(world, {2, 1, 1});
      Parameters parameters(DType::f32, 0, 1);
      const Gpt gpt(config,
                    {mesh.stage(), mesh.stage() + 1, mesh.first_stage(), mesh.last_stage(), 0},
                    false, parameters);
      Buckets buckets(parameters, mesh, {1});
      const Parameter& own =
          *parameters.find(mesh.first_stage() ? "embedding.tokens.weight" : "head.weight");
      own.gradient.data<float>()[0] = 1;
      buckets.finish(true);
      EXPECT_EQ(own.gradient.data<float>()[0], tied ? 2 : 1);
    });
}

TEST(Buckets, GatherValuesBringsOwnSlicesToAll) {
  run_ranks(4, [](Group& world) {
    Mesh mesh(world, {1, 4, 1});
    Parameters parameters(DType::f32, 0, 1);
    const Parameter& p = add(parameters, "one", "p", {5000});
    Buckets buckets(parameters, mesh, {1});
    const auto& bucket = buckets.all().front();
    for (int64_t i = 0; i < buckets.own_size(bucket); ++i)
      bucket.values.data<float>()[buckets.own_begin(bucket) + i] =
          static_cast<float>(buckets.own_begin(bucket) + i);
    buckets.gather_values();
    for (int64_t i = 0; i < 5000; ++i) ASSERT_EQ(p.value.data<float>()[i], static_cast<float>(i));
  });
}

TEST(BatchPlan, RefusesWhatDoesNotDivideWithTheNumbers) {
  const auto message = [](ParallelConfig parallel, int dp, int64_t batch, int64_t micro) {
    try {
      plan_batch(parallel, {1, dp, 1}, batch, micro);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("fits");
  };
  EXPECT_EQ(message({}, 2, 8, 2), "fits");
  EXPECT_NE(message({}, 3, 16, 1)
                .find("train.global_batch=16 does not divide by the 3 data-parallel ranks; the "
                      "nearest that does is 15"),
            std::string::npos);
  EXPECT_NE(
      message({}, 1, 8, 3)
          .find("train.micro_batch=3 must divide the 2 sequences of a reduction group "
                "(train.global_batch=8 / parallel.reduction_groups=4) or hold a power of two "
                "of the 4 groups of a rank, or all of them; the nearest below that does is 2"),
      std::string::npos);
  EXPECT_NE(message({}, 1, 0, 1).find("train.global_batch=0"), std::string::npos);
  ParallelConfig groups;
  groups.reduction_groups = 6;
  EXPECT_EQ(message(groups, 3, 12, 1), "fits");
  EXPECT_NE(message(groups, 4, 12, 1)
                .find("parallel.reduction_groups=6 must be a multiple of the 4 data-parallel ranks "
                      "and a divisor of train.global_batch=12"),
            std::string::npos);
  EXPECT_NE(message(groups, 1, 8, 1).find("train.global_batch=8"), std::string::npos);
  for (int64_t micro : {1, 2, 4, 12}) EXPECT_EQ(message(groups, 1, 12, micro), "fits") << micro;
  for (int64_t micro : {3, 6, 8, 24})
    EXPECT_NE(message(groups, 1, 12, micro).find("or hold a power of two"), std::string::npos);
}

// Bits must not depend on the micro-batch: a turn's groups are a power of two.
TEST(BatchPlan, RanksTakeTurnsWhereOnlyThatAddsAsOneRank) {
  const auto plan = [](int dp, int64_t groups, int64_t micro,
                       GroupOrder order = GroupOrder::automatic) {
    ParallelConfig parallel;
    parallel.reduction_groups = groups;
    parallel.group_order = order;
    return plan_batch(parallel, {1, dp, 1}, 24, micro);
  };
  EXPECT_FALSE(plan(1, 12, 2).strided);
  EXPECT_TRUE(plan(2, 12, 2).strided);
  EXPECT_FALSE(plan(3, 12, 2).strided);
  EXPECT_TRUE(plan(4, 12, 2).strided);
  EXPECT_FALSE(plan(6, 12, 4).strided);
  EXPECT_FALSE(plan(12, 12, 2).strided);
  EXPECT_FALSE(plan(2, 8, 3).strided);
  EXPECT_TRUE(plan(2, 8, 3, GroupOrder::strided).strided);
  EXPECT_FALSE(plan(2, 12, 2, GroupOrder::contiguous).strided);
  EXPECT_EQ(plan(2, 12, 4).sums_per_rank(), 3) << "two of six groups at a time";
  EXPECT_EQ(plan(2, 12, 4).samples_per_run(), 4);
  EXPECT_EQ(plan(2, 12, 1).samples_per_run(), 2);
  const auto message = [&](const auto& make) {
    try {
      make();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("fits");
  };
  EXPECT_NE(message([&] { plan(2, 12, 12); })
                .find("or hold a power of two of the 6 groups of a rank; the nearest below that "
                      "does is 4"),
            std::string::npos);
  EXPECT_EQ(message([&] { plan(2, 12, 12, GroupOrder::contiguous); }), "fits");
  EXPECT_NE(message([&] {
              plan(3, 12, 2, GroupOrder::strided);
            }).find("but there are 3; use parallel.group_order=contiguous"),
            std::string::npos);
}

TEST(BatchPlan, NumbersOfRanksComeInTheOrderOfSamples) {
  BatchPlan plan{.global_batch = 12,
                 .micro_batch = 2,
                 .groups = 6,
                 .samples_per_rank = 6,
                 .groups_per_rank = 3,
                 .strided = true};
  const std::vector<double> gathered{0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11},
      ordered{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  EXPECT_EQ(plan.in_sample_order(gathered), ordered);
  plan.strided = false;
  EXPECT_EQ(plan.in_sample_order(ordered), ordered);
}

TEST(BatchPlan, AnyNumberOfRanksThatDividesTheBatchTrains) {
  const auto groups = [](int dp, int64_t batch) {
    return plan_batch({}, {1, dp, 1}, batch, 1).groups;
  };
  for (int dp : {3, 5, 6, 12, 48, 127}) EXPECT_EQ(groups(dp, 2 * dp), dp);
  EXPECT_EQ(groups(1, 8), 4);
  EXPECT_EQ(groups(2, 8), 4);
  EXPECT_EQ(groups(1, 6), 2);
  EXPECT_EQ(groups(2, 6), 2);
}

}  // namespace
}  // namespace skein
