// The ends of blocks in backward as events: the gradients of a bucket whose groups have ended are
// final while the blocks before still run their backward.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "skein/comm/local.h"
#include "skein/parallel/buckets.h"
#include "skein/parallel/local_model.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

using Bytes = std::vector<std::byte>;
using Trace = std::vector<std::string>;

constexpr int64_t kSamples = 8;

struct Layout {
  int pipeline = 1, data = 1, chunks = 1;
  Recompute recompute = Recompute::none;
  int64_t frozen = -1;
  int ranks() const { return pipeline * data; }
};

ParallelConfig parallel_of(const Layout& layout) {
  ParallelConfig made;
  made.pipeline = layout.pipeline;
  made.data = layout.data;
  made.chunks = layout.chunks;
  if (layout.chunks > 1) made.schedule = ScheduleKind::interleaved;
  made.recompute = layout.recompute;
  made.reduction_groups = 4;
  return made;
}

ModelConfig small_model(const Layout& layout) {
  ModelConfig made;
  made.vocab_size = 64;
  made.context = 8;
  made.d_model = 16;
  made.n_layers = 4;
  made.dropout = 0.1;
  made.tie_embeddings = layout.frozen < 0;
  return made;
}

data::Batch sample(int64_t number) {
  const int64_t length = 8;
  std::vector<int32_t> tokens, targets, positions;
  for (int64_t i = 0; i < length; ++i) {
    tokens.push_back(static_cast<int32_t>((number * 5 + i * 7) % 64));
    targets.push_back(static_cast<int32_t>((number * 3 + i * 11) % 64));
    positions.push_back(static_cast<int32_t>(i));
  }
  data::Batch made;
  made.tokens = Tensor::from(tokens, {1, length});
  made.targets = Tensor::from(targets, {1, length});
  made.positions = Tensor::from(positions, {1, length});
  made.weights = Tensor::from(std::vector<float>(static_cast<size_t>(length), 1.0f), {1, length});
  made.sample_ids = Tensor::from(std::vector<int64_t>{number}, {1});
  return made;
}

// One rank's step up to the sums, whose listener asks for what it needs.
class Step {
 public:
  Step(Group& world, const Layout& layout)
      : parallel_(parallel_of(layout)),
        mesh_(world, mesh_shape(parallel_, world.size())),
        local_(small_model(layout), parallel_, mesh_, DType::f32, layout.frozen),
        plan_(plan_batch(parallel_, mesh_.shape(), kSamples, 1)),
        buckets(local_.parameters(), mesh_, {plan_.sums_per_rank()}) {
    local_.parameters().initialize(3);
  }

  void run(const std::function<void(int micro_batch, int chunk, int bucket)>& listen) {
    Pipeline pipeline(mesh_, local_.pipeline_model(), parallel_.schedule);
    PipelineStep work;
    for (int64_t i = 0; i < plan_.samples_per_rank; ++i)
      work.micro_batches.push_back(sample(mesh_.dp().rank() * plan_.samples_per_rank + i));
    work.loss_scale = 1.0 / (kSamples * 8);
    work.gradients_done = listen;
    Pass pass = local_.pass();
    pass.train = true;
    pass.seed = 5;
    buckets.begin_step(plan_.sums_per_rank());
    pipeline.run(work, pass);
  }
  // What is complete now, in the order in which it was completed.
  std::vector<size_t> end(int micro_batch, int chunk, int bucket) {
    const int per_group = static_cast<int>(plan_.micro_batches_per_sum());
    if ((micro_batch + 1) % per_group == 0)
      buckets.end_group(micro_batch / per_group, chunk, bucket);
    std::vector<size_t> made;
    for (size_t b = buckets.all().size(); b-- > 0;)
      if (buckets.all()[b].groups_done == plan_.sums_per_rank() && complete_.insert(b).second)
        made.push_back(b);
    return made;
  }
  const std::string& name(size_t bucket) const { return buckets.all()[bucket].name; }
  const Parameter& parameter(const std::string& name) { return *local_.parameters().find(name); }

 private:
  ParallelConfig parallel_;
  Mesh mesh_;
  LocalModel local_;
  BatchPlan plan_;
  std::set<size_t> complete_;

 public:
  Buckets buckets;
};

bool is_zero(const Tensor& tensor) {
  for (float value : tensor.span<float>())
    if (value != 0) return false;
  return true;
}

TEST(BlockEnd, ComesBlockAfterBlockFromTheLast) {
  for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
    run_ranks(1, [&](Group& world) {
      Step step(world, {1, 1, 1, recompute});
      std::map<int, Trace> ends;
      step.run([&](int micro_batch, int, int bucket) {
        ends[micro_batch].push_back(step.name(static_cast<size_t>(bucket)));
        if (micro_batch > 0) return;
        // Of the first micro-batch: what has ended has a gradient, what comes next has none yet.
        const auto gradient = [&](int block) {
          return step.parameter(fmt::format("block.{}.mlp.up.weight", block)).gradient;
        };
        const auto ended = static_cast<int>(std::min<size_t>(ends[0].size() - 1, 4));
        for (int block = 0; block < 4; ++block)
          EXPECT_EQ(is_zero(gradient(block)), block < 4 - ended)
              << block << " at the end of " << ends[0].back();
      });
      EXPECT_EQ(ends.size(), size_t{kSamples});
      for (const auto& [micro_batch, names] : ends)
        EXPECT_EQ(names, (Trace{"final_norm", "block.3", "block.2", "block.1", "block.0",
                                "embedding.tokens"}))
            << micro_batch;
    });
}

const Layout kLayouts[] = {{1, 1, 1},
                           {1, 1, 1, Recompute::full},
                           {1, 2, 1, Recompute::selective},
                           {2, 1, 1, Recompute::full},
                           {4, 1, 1},
                           {2, 1, 2},
                           {2, 2, 1, Recompute::full},
                           {2, 2, 2},
                           {2, 2, 2, Recompute::selective}};

TEST(BlockEnd, GradientsAreFinalThere) {
  for (const Layout& layout : kLayouts)
    run_ranks(layout.ranks(), [&](Group& world) {
      Step step(world, layout);
      std::map<size_t, Bytes> found;
      step.run([&](int micro_batch, int chunk, int bucket) {
        for (size_t b : step.end(micro_batch, chunk, bucket))
          found[b] = test::bytes_of(step.buckets.all()[b].gradients);
      });
      EXPECT_EQ(found.size(), step.buckets.all().size());
      for (const auto& [b, bytes] : found) {
        EXPECT_EQ(bytes, test::bytes_of(step.buckets.all()[b].gradients)) << step.name(b);
        EXPECT_FALSE(is_zero(step.buckets.all()[b].gradients)) << step.name(b);
      }
    });
}

// No gradient comes to the first block that learns: its end is that of the piece.
TEST(BlockEnd, FrozenBlocksHaveNone) {
  run_ranks(1, [](Group& world) {
    Step step(world, {1, 1, 1, Recompute::none, 2});
    Trace ends;
    step.run([&](int micro_batch, int chunk, int bucket) {
      for (size_t b : step.end(micro_batch, chunk, bucket))
        ends.push_back(
            fmt::format("{} from {}", step.name(b), bucket == 0 ? "the piece" : "a block"));
    });
    EXPECT_EQ(ends, (Trace{"head from a block", "final_norm from a block", "block.3 from a block",
                           "block.2 from the piece"}));
  });
}

}  // namespace
}  // namespace skein
