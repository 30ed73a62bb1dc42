// What a watcher is told of layers of attention.
#include "skein/nn/attention_watcher.h"

#include "skein/comm/local.h"
#include "skein/kernels/attention_weights.h"
#include "skein/nn/kv_cache.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

struct Seen {
  int block;
  bool memory;
  int64_t first_head;
  Tensor weights;
};

struct Notes : AttentionWatcher {
  void see(const SeenAttention& seen) override {
    all.push_back({seen.block, seen.memory, seen.arguments.first_head,
                   attention_weights(seen.q, seen.k, seen.arguments)});
  }
  void see(const SeenLinks&) override { ADD_FAILURE() << "there are no links here"; }
  std::vector<Seen> all;
};

constexpr int64_t kTokens = 4, kSource = 6;

data::Batch two_sides() {
  data::Batch batch;
  batch.tokens = Tensor::zeros({1, kTokens}, DType::i32);
  batch.positions = test::counted_positions(1, kTokens, {0});
  batch.source.tokens = Tensor::zeros({1, kSource}, DType::i32);
  batch.source.segments = Tensor::from(std::vector<int32_t>{0, 0, 0, 0, -1, -1}, {1, kSource});
  return batch;
}

// Notes of each of `ranks` tensor-parallel ranks.
std::vector<Notes> noted(int ranks, bool recompute) {
  std::vector<Notes> made(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](Group& tp) {
    Parameters parameters(DType::f64, tp.rank(), ranks);
    const auto blocks = test::small_blocks(test::Family::decoder);
    const Stack stack(parameters, 3, 0, blocks);
    test::initialize_all(parameters, true);
    const data::Batch batch = two_sides();
    Pass pass;
    pass.tp = &tp;
    pass.batch = &batch;
    pass.recompute = recompute ? Recompute::full : Recompute::none;
    pass.watcher = &made[static_cast<size_t>(tp.rank())];
    const NoGrad no_grad;
    stack(Var(test::random_tensor({1, kTokens, test::kWidth}, 1)), pass,
          {Var(test::random_tensor({1, kSource, test::kWidth}, 2)), {}});
  });
  return made;
}

TEST(AttentionWatcher, IsToldOfEachLayerInOrder) {
  const std::vector<Seen> all = noted(1, false)[0].all;
  ASSERT_EQ(all.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i].block, i < 2 ? 3 : 4);
    EXPECT_EQ(all[i].memory, i % 2 == 1);
    EXPECT_EQ(all[i].weights.shape(), (Shape{1, 4, kTokens, i % 2 ? kSource : kTokens}));
  }
  // The source's padding is not seen, nor is what comes later.
  for (int64_t row = 0; row < 4 * kTokens; ++row) {
    EXPECT_EQ(all[1].weights.data<double>()[row * kSource + 4], 0);
    EXPECT_GT(all[1].weights.data<double>()[row * kSource + 3], 0);
    EXPECT_EQ(all[0].weights.data<double>()[row * kTokens + 3] > 0, row % kTokens == 3);
  }
}

TEST(AttentionWatcher, IsToldWhichHeadsARankHas) {
  const std::vector<Seen> whole = noted(1, false)[0].all;
  const std::vector<Notes> parts = noted(2, true);
  for (size_t rank = 0; rank < 2; ++rank)
    for (size_t i = 0; i < 4; ++i) {
      const Seen& part = parts[rank].all[i];
      EXPECT_EQ(part.first_head, static_cast<int64_t>(2 * rank));
      const int64_t size = part.weights.size();
      for (int64_t k = 0; k < size; ++k)
        EXPECT_NEAR(part.weights.data<double>()[k],
                    whole[i].weights.data<double>()[static_cast<int64_t>(rank) * size + k], 1e-12);
    }
}

}  // namespace
}  // namespace skein
