// Layers that do not learn: their bits stay, the rest learns the same at every layout, and a run
// goes on with them.
#include <gtest/gtest.h>

#include "train/train_fixture.h"

namespace skein::train {
namespace {

class Frozen : public testing::Test {
 protected:
  void SetUp() override { write_small_store(folder_.file("train.h5")); }

  PretrainConfig config(int64_t frozen) const {
    PretrainConfig c = small_config(folder_.file("train.h5"));
    c.train.steps = 8;
    c.train.frozen_layers = frozen;
    c.model.tie_embeddings = frozen < c.model.n_layers;
    c.lr.decay = LrConfig::Decay::constant;
    c.lr.warmup = 0;
    return c;
  }
  // The same weights before the first step: a rate so small that nothing moves.
  State at_start(int64_t frozen) {
    PretrainConfig c = config(frozen);
    c.train.steps = 1;
    c.lr.lr = c.lr.min_lr = 1e-30;
    return train(c, 1, folder_, "start").state;
  }

  test::Scratch folder_;
};

bool is_frozen(const std::string& name, int64_t layers) {
  if (name.starts_with("param/block.")) return std::stoi(name.substr(12)) < layers;
  return name.starts_with("param/embedding.") ||
         (layers == 4 && name.starts_with("param/final_norm"));
}

TEST_F(Frozen, BitsStayAndTheRestLearns) {
  for (int64_t layers : {0, 2, 4}) {
    const State before = at_start(layers),
                after = train(config(layers), 1, folder_, fmt::format("run{}", layers)).state;
    for (const auto& [name, bytes] : after) {
      if (!name.starts_with("param/"))
        EXPECT_FALSE(is_frozen("param/" + name.substr(name.find('/') + 1), layers)) << name;
      else
        EXPECT_EQ(bytes == before.at(name), is_frozen(name, layers)) << name << " with " << layers;
    }
    std::filesystem::remove_all(folder_.file("start"));
  }
}

TEST_F(Frozen, TheRestLearnsTheSameAtEveryLayout) {
  for (int64_t layers : {1, 2, 3}) {
    PretrainConfig c = config(layers);
    c.model.tie_embeddings = false;
    const Finished expected = train(c, 1, folder_, fmt::format("expected{}", layers));
    int number = 0;
    for (int pipeline : {1, 2, 4})
      for (bool zero : {false, true}) {
        c.parallel.pipeline = pipeline;
        c.parallel.zero = zero;
        c.parallel.recompute = zero            ? Recompute::full
                               : pipeline == 2 ? Recompute::selective
                                               : Recompute::none;
        const Finished found =
            train(c, 2 * pipeline, folder_, fmt::format("run{}_{}", layers, number++));
        EXPECT_EQ(found.losses, expected.losses) << pipeline << zero;
        EXPECT_EQ(found.grad_norms, expected.grad_norms) << pipeline << zero;
        EXPECT_EQ(first_difference(found.state, expected.state), "") << pipeline << zero;
      }
  }
}

TEST_F(Frozen, InterleavedPiecesAreFrozenByNumber) {
  PretrainConfig c = config(3);
  const Finished expected = train(c, 1, folder_, "expected");
  c.parallel.pipeline = 2;
  c.parallel.chunks = 2;
  c.parallel.schedule = ScheduleKind::interleaved;
  const Finished found = train(c, 2, folder_, "interleaved");
  EXPECT_EQ(first_difference(found.state, expected.state), "");
}

TEST_F(Frozen, AStageMayHoldTheFrozenEmbeddingAlone) {
  PretrainConfig c = config(0);
  const Finished expected = train(c, 1, folder_, "expected");
  c.parallel.pipeline = 2;
  c.parallel.layers = {0, c.model.n_layers};
  const Finished found = train(c, 2, folder_, "empty");
  EXPECT_EQ(found.losses, expected.losses);
  EXPECT_EQ(first_difference(found.state, expected.state), "");
}

TEST_F(Frozen, RunsGoOnWithEqualBits) {
  for (const DType precision : {DType::f32, DType::bf16}) {
    PretrainConfig c = config(2);
    c.train.precision = precision;
    c.optimizer.stochastic_rounding = precision == DType::bf16;
    const std::string name = std::string(name_of(precision));
    const Finished expected = train(c, 1, folder_, "expected_" + name);
    c.train.steps = 4;
    c.parallel.zero = true;
    train(c, 2, folder_, name);
    c.train.steps = 8;
    c.parallel.pipeline = 2;
    const Finished found = train(c, 2, folder_, name);
    EXPECT_EQ(first_difference(found.state, expected.state), "") << name;
  }
}

TEST_F(Frozen, MoreThanCanBeFrozenIsAnError) {
  const auto message = [&](int64_t layers) -> std::string {
    PretrainConfig c = config(layers);
    c.model.tie_embeddings = true;
    return training_error(c, 1, folder_, "run", ExitCode::usage);
  };
  EXPECT_NE(message(5).find("train.frozen_layers=5 must be from -1 (none) to model.n_layers=4"),
            std::string::npos)
      << message(5);
  EXPECT_NE(message(4).find("nothing that learns"), std::string::npos) << message(4);
}

}  // namespace
}  // namespace skein::train
