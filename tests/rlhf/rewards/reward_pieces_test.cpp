// Reward models beside policies of another depth.
#include "skein/rlhf/rewards/reward_model_source.h"

#include "rlhf/reward_pairs.h"
#include "support/expect_error.h"

namespace skein::rlhf::rewards {
namespace {

// Pieces of a policy of four blocks are none of a reward model of two, which are cut evenly.
TEST_F(RewardTasks, TakePiecesOfTheirOwnBesideAPolicy) {
  RewardConfig c = small_reward();
  c.run.data.train = {write_pairs(folder_.file("train.jsonl"), 16, 1)};
  c.run.train.steps = 1;
  train_reward(c, folder_, 1, "run");
  const auto beside = [&](int stages, const std::vector<int64_t>& layers, const auto& work) {
    run_ranks(stages, [&](Group& world) {
      ParallelConfig parallel;
      parallel.pipeline = stages;
      parallel.layers = layers;
      Mesh mesh(world, mesh_shape(parallel, world.size()));
      work([&] {
        return RewardModelSource(folder_.file("run"),
                                 {text::StoredTokenizer(text::byte_tokenizer()), {}}, parallel,
                                 DType::f32, 2, mesh);
      });
    });
  };
  std::vector<Answer> asked(1);
  asked[0].prompt.messages = {{"user", "ask"}};
  asked[0].text = "a c";
  std::vector<double> alone;
  beside(1, {}, [&](const auto& made) { alone = made().scores(asked); });
  beside(2, {3, 1}, [&](const auto& made) { EXPECT_EQ(made().scores(asked), alone); });
  beside(4, {}, [&](const auto& made) {
    test::expect_error(ExitCode::usage,
                       {"the reward model " + folder_.file("run"), "model.n_layers=2 is fewer"},
                       made);
  });
}

}  // namespace
}  // namespace skein::rlhf::rewards
