// What a masked autoencoder is made of, and what none can be.
#include "skein/models/mae/mae.h"

#include <limits>

#include "skein/models/description.h"
#include "skein/models/flops.h"
#include "skein/models/vit/vit.h"

#include "support/expect_error.h"

namespace skein {
namespace {

// 3 x 4 patches of four numbers, of which three are seen.
ModelConfig small_mae() {
  ModelConfig made;
  made.architecture = &mae_architecture();
  made.vocab_size = 0;
  made.positions = Positions::sinusoidal;
  made.d_model = 16;
  made.n_heads = 2;
  made.n_layers = 5;
  made.context = 4;
  picture_options(made) = {.image_height = 6, .image_width = 8, .channels = 1, .patch_height = 2};
  return made;
}

TEST(Mae, HasADecoderOfItsOwn) {
  const ModelConfig c = small_mae().written_out();
  EXPECT_EQ(mae_options(c).decoder_layers, 2);
  EXPECT_EQ(mae_options(c).decoder_heads, 2);
  EXPECT_EQ(mae_options(c).decoder_width, 8);
  EXPECT_EQ(mae_options(c).decoder_ff, 32);
  const data::PictureForm form = c.architecture->picture_form(c);
  EXPECT_EQ(form.hidden, 9);
  EXPECT_EQ(form.tokens(), 4);
  EXPECT_TRUE(form.normed);
  const TensorShapes shapes = tensor_shapes(c, whole_piece(c));
  const auto shape = [&](const std::string& name) { return shapes.at(name); };
  using Sides = std::vector<int64_t>;
  EXPECT_EQ(shape("embedding.positions.weight"), (Sides{13, 16}));
  EXPECT_EQ(shape("final_norm.gain"), (Sides{16}));
  EXPECT_EQ(shape("decoder.embedding.weight"), (Sides{8, 16}));
  EXPECT_EQ(shape("decoder.mask"), (Sides{1, 8}));
  EXPECT_EQ(shape("decoder.positions.weight"), (Sides{13, 8}));
  EXPECT_EQ(shape("block.2.attention.q.weight"), (Sides{16, 16}));
  EXPECT_EQ(shape("block.3.attention.q.weight"), (Sides{8, 8}));
  EXPECT_EQ(shape("decoder.pixels.weight"), (Sides{4, 8}));
}

// Every tensor of the encoder has the name and the shape that it has in a ViT.
TEST(Mae, BecomesAViTOfItsEncoder) {
  const ModelConfig before = small_mae();
  ModelConfig vit = before;
  vit.architecture->begin_labels(vit, Head::sequence, 3);
  check(vit, 2, false);
  EXPECT_EQ(vit.architecture, &vit_architecture());
  EXPECT_EQ(vit.n_layers, 3);
  EXPECT_EQ(vit.context, 13);
  EXPECT_EQ(vit.labels, 3);
  const TensorShapes held = tensor_shapes(before, whole_piece(before));
  for (const auto& [name, sides] : tensor_shapes(vit, whole_piece(vit))) {
    if (name.starts_with("classifier")) continue;
    ASSERT_TRUE(held.contains(name)) << name;
    EXPECT_EQ(held.at(name), sides) << name;
  }
}

// For each token that is seen: the decoder's blocks work on 13 rows for 4, and pixels are made of
// 9.
TEST(Mae, CostsWhatItsHalvesDo) {
  const ModelConfig c = small_mae();
  const auto flops = flops_by_block(c, 4, AttentionCount::full);
  const double rows = 13 / 4.0, block = 6 * 12 * 16 * 16 + 12 * 16 * 4,
               decoder = rows * (6 * 12 * 8 * 8 + 12 * 8 * 13);
  EXPECT_NEAR(flops.at(0), block, 1e-9);
  EXPECT_NEAR(flops.at(2), block, 1e-9);
  EXPECT_NEAR(flops.at(3), decoder + 6 * 16 * 8, 1e-9);
  EXPECT_NEAR(flops.at(4), decoder, 1e-9);
  EXPECT_NEAR(flops.at(-1), 6 * 16 * 4 + 6 * 8 * 4 * 9 / 4.0, 1e-9);
}

void expect_mae_refused(const ModelConfig& c, const std::string& text) {
  test::expect_error(ExitCode::usage, {text}, [&] { check(c, 1, false); });
}

TEST(Mae, RefusesADecoderThatCannotBe) {
  ModelConfig c = small_mae();
  EXPECT_NO_THROW(check(c, 2, false));
  c.n_layers = 1;
  expect_mae_refused(c, "model.n_layers is 1; model.architecture=mae needs at least 2");
  c = small_mae();
  mae_options(c).decoder_layers = 5;
  expect_mae_refused(c, "model.decoder_layers=5 must be below model.n_layers=5");
  c = small_mae();
  mae_options(c).decoder_width = 12;
  mae_options(c).decoder_heads = 5;
  expect_mae_refused(c, "model.decoder_width=12 does not divide by model.decoder_heads=5");
  mae_options(c).decoder_width = 10;
  expect_mae_refused(c, "need model.d_model=16 and model.decoder_width=10 to divide by 4");
  mae_options(c).decoder_width = 1 << 21;
  expect_mae_refused(c, "model.decoder_width is 2097152; it must be from 0 to 1048576");
  c = small_mae();
  mae_options(c).decoder_heads = 1;
  EXPECT_NO_THROW(check(c, 1, false));
  test::expect_error(
      ExitCode::usage,
      {"model.decoder_heads=1 and model.decoder_ff=16 do not both divide by parallel.tensor=2"},
      [&] {
        Parameters half(DType::f32, 0, 2);
        describe(c, whole_piece(c), half);
      });
}

TEST(Mae, RefusesWhatHidesNothingOrAll) {
  ModelConfig c = small_mae();
  const auto hiding = [&](double ratio) {
    mae_options(c).mask_ratio = ratio;
    c.context = c.architecture->picture_form(c).tokens();
    return c;
  };
  for (const double ratio : {0.0, 1.0, -0.5, 2.0, std::numeric_limits<double>::quiet_NaN()})
    expect_mae_refused(hiding(ratio), "must be above 0 and below 1");
  expect_mae_refused(hiding(0.99),
                     "model.mask_ratio=0.99 hides 12 of the 12 patches of a picture; at least one");
  c = small_mae();
  picture_options(c) = {
      .image_height = 65536, .image_width = 65536, .channels = 1, .patch_height = 1};
  expect_mae_refused(hiding(0.9), "pictures of 4294967296 patches have too many; 2147483646 is");
  c = small_mae();
  picture_options(c).patch_height = 1;
  c.context = 13;
  expect_mae_refused(c, "model.norm_pixels needs patches of more than 1 number");
  mae_options(c).norm_pixels = false;
  EXPECT_NO_THROW(check(c, 1, false));
}

TEST(Mae, RefusesWhatCannotBe) {
  ModelConfig c = small_mae();
  c.positions = Positions::learned;
  expect_mae_refused(c, "give model.positions=sinusoidal");
  c = small_mae();
  c.norm_placement = NormPlacement::post;
  expect_mae_refused(c, "give model.norm_placement=pre");
  c = small_mae();
  c.head = Head::sequence;
  c.labels = 3;
  expect_mae_refused(c, "says patches and no labels; leave model.head and model.labels=3 out");
  c = small_mae();
  c.context = 13;
  expect_mae_refused(c, "model.context=13 is not the 4 tokens of a picture; leave it out");
  c = small_mae();
  test::expect_error(ExitCode::usage, {"parallel.sequence is for models that read texts"},
                     [&] { check(c, 2, true); });
}

TEST(Mae, HasOptionsOfItsOwn) {
  ModelConfig c = small_mae();
  c.architecture->begin_labels(c, Head::sequence, 3);
  EXPECT_NO_THROW(check(c, 1, false));
  mae_options(c).mask_ratio = 0.5;
  expect_mae_refused(c,
                     "model.mask_ratio=0.5 is for model.architecture=mae, not vit; leave it out");
}

}  // namespace
}  // namespace skein
