// Prefix language models: equal bits at every layout, what they are judged by, and what is refused.
#include "skein/models/architecture.h"
#include "skein/models/gpt/gpt.h"
#include "skein/train/evaluate.h"
#include "skein/train/tasks/adapting.h"
#include "skein/train/trained_model.h"

#include "train/layout_check.h"

namespace skein::train {
namespace {

class Prefixes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<test::Scratch>();
    write_small_store(folder_->file("train.h5"), 60);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static PretrainConfig config() {
    PretrainConfig c = small_config(folder_->file("train.h5"));
    c.data.prefix = 0.5;
    c.data.validation = c.data.train;
    c.validation.every = 0;
    c.validation.eval.windows = 20;
    c.train.steps = 8;
    return c;
  }
  static std::string refused(const PretrainConfig& c) {
    return training_error(c, 1, *folder_, "refused", ExitCode::usage);
  }

  static inline std::unique_ptr<test::Scratch> folder_;
};

TEST_F(Prefixes, GiveEqualBitsAtEveryLayout) {
  PretrainConfig c = config();
  c.data.cross_document_attention = false;
  const Finished expected = train(c, 1, *folder_, "expected");
  c.train.micro_batch = 4;
  c.parallel.recompute = Recompute::selective;
  expect_equal_run(c, 1, *folder_, expected);
  c.train.micro_batch = 2;
  c.parallel.data = c.parallel.pipeline = 2;
  c.parallel.recompute = Recompute::full;
  c.parallel.zero = true;
  expect_equal_run(c, 4, *folder_, expected);
  c.data.prefix = 0.75;
  EXPECT_NE(train(c, 4, *folder_, "other").losses, expected.losses);
}

TEST_F(Prefixes, AreRememberedByTheModel) {
  train(config(), 1, *folder_, "remembered");
  const auto alone = single_rank();
  const TrainedModel model = open_trained_model(folder_->file("remembered"), 0, *alone);
  EXPECT_TRUE(model.model.architecture->reads_prompts_both_ways(model.model));
  EXPECT_EQ(refusal_of([&] {
              require_one_way(model.model, "skein sft");
            }).find("the model to begin from was trained with lm.prefix"),
            0u);
  EXPECT_EQ(refusal_of([&] { require_one_way(ModelConfig{}, "skein sft"); }), "");
}

// The first token of each window but for its prefix is seen by the prefix's last token alone.
TEST_F(Prefixes, AreWhatEvaluationDoesNotScore) {
  PretrainConfig c = config();
  c.model.vocab_size = 64;
  c.model.architecture->read_prompts_both_ways(c.model);
  const auto world = single_rank();
  Mesh mesh(*world, {1, 1, 1});
  LocalModel local(c.model, {}, mesh, DType::f32);
  local.parameters().allocate(false);
  local.parameters().initialize(3);
  Pipeline pipeline(mesh, local.pipeline_model(), ScheduleKind::gpipe);
  const data::Loader loader(c.data.train, 1, 0, {});
  const auto nats = [&](int64_t stride, bool prefix) {
    const EvalConfig eval{0, stride, prefix};
    const Evaluation found =
        evaluate_windows({pipeline, local.pass(), mesh, 4}, eval, loader, {}, c.model.context);
    EXPECT_EQ(found.tokens, 3999);
    return found.nats;
  };
  EXPECT_EQ(nats(0, true), nats(8, true)) << "by itself a stride is half of the context";
  EXPECT_NE(nats(8, true), nats(8, false));
  EXPECT_EQ(nats(16, true), nats(16, false)) << "windows without a context have no prefix";
}

TEST_F(Prefixes, AreRefusedWhereTheyCannotBe) {
  PretrainConfig c = config();
  c.model.attention = windowed(4);
  EXPECT_EQ(
      refused(c),
      "model.prefix lets all tokens see the prompt, but attention.kind=window only some of it; "
      "leave one of them out");
  c = config();
  c.data.prefix = 1;
  EXPECT_EQ(refused(c),
            "lm.prefix=1 must be in [0, 1): the mean part of a sample that is its prefix");
  c = config();
  c.data.prefix = 0;
  c.model.own.get<GptOptions>().prefix = true;
  EXPECT_EQ(
      refused(c),
      "model.prefix is learnt from samples with prefixes; give lm.prefix=0.5, or another mean "
      "part of a sample");
  c = config();
  c.model.architecture = &bert_architecture();
  EXPECT_EQ(refused(c),
            "lm.prefix is for models that continue text; one of "
            "model.architecture=bert is an encoder");
  c.data.prefix = 0;
  c.data.stride = 4;
  EXPECT_EQ(refused(c),
            "data.stride=4 is for models that continue text, and this one is an encoder; leave it "
            "out");
}

TEST_F(Prefixes, StridesGiveEqualBitsToo) {
  PretrainConfig c = config();
  c.data.prefix = 0;
  c.data.stride = c.validation.eval.stride = 8;
  c.model.attention = windowed(8);
  const Finished expected = train(c, 1, *folder_, "windows");
  EXPECT_LT(expected.losses.back(), expected.losses.front());
  c.train.micro_batch = 2;
  c.parallel.data = 2;
  expect_equal_run(c, 2, *folder_, expected);
}

}  // namespace
}  // namespace skein::train
