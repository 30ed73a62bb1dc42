// Windows of an evaluation are no longer than the text, whatever context a model says.
#include <gtest/gtest.h>

#include "skein/train/evaluate.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

Evaluation evaluated(const std::string& store, int64_t context, int64_t stride) {
  ModelConfig c;
  c.vocab_size = 64;
  c.context = context;
  c.d_model = 16;
  c.n_layers = 2;
  c.n_heads = 2;
  c.positions = Positions::rotary;
  const auto world = single_rank();
  Mesh mesh(*world, {1, 1, 1});
  LocalModel local(c, {}, mesh, DType::f32);
  local.parameters().allocate(false);
  local.parameters().initialize(3);
  Pipeline pipeline(mesh, local.pipeline_model(), ScheduleKind::gpipe);
  EvalConfig config;
  config.windows = 0;
  config.stride = stride;
  const data::Loader loader({store}, 1, 0, {});
  return evaluate_windows({pipeline, local.pass(), mesh, 2}, config, loader, {}, context);
}

TEST(Evaluation, OfAShortTextNeedsNoWholeContext) {
  const test::Scratch space;
  {
    data::TokenStoreWriter writer(space.file("short.h5"), 64, -1,
                                  R"({"type":"bytes","version":1})");
    std::vector<int32_t> tokens(50);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * i % 61);
    writer.add_document(tokens, 50);
    writer.finish();
  }
  for (const int64_t stride : {0, 1, 7, 49, 50, 64}) {
    const Evaluation plain = evaluated(space.file("short.h5"), 64, stride);
    EXPECT_EQ(plain.tokens, 49);
    for (const int64_t context : {int64_t{128}, int64_t{2'147'483'647}}) {
      const Evaluation found = evaluated(space.file("short.h5"), context, stride);
      EXPECT_EQ(found.tokens, plain.tokens) << context << ", " << stride;
      EXPECT_NEAR(found.nats, plain.nats, 1e-6 * plain.nats) << context << ", " << stride;
    }
  }
  EXPECT_THROW(evaluated(space.file("short.h5"), 64, 65), Error);
}

}  // namespace
}  // namespace skein::train
