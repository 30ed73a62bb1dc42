// What a Swin is made of, and what none can be.
#include "skein/models/swin/swin.h"

#include "skein/models/flops.h"
#include "skein/models/vit/vit.h"

#include "support/expect_error.h"

namespace skein {
namespace {

// A grid of 5 x 7 in windows of 3, then one of 3 x 4.
ModelConfig small_swin() {
  ModelConfig made;
  made.architecture = &swin_architecture();
  made.vocab_size = 0;
  made.positions = Positions::distance;
  made.head = Head::sequence;
  made.labels = 3;
  made.d_model = 8;
  made.n_heads = 2;
  made.n_layers = 4;
  made.context = 35;
  picture_options(made) = {.image_height = 10, .image_width = 14, .channels = 1, .patch_height = 2};
  swin_options(made) = {.depths = {2, 2}, .window_side = 3};
  return made;
}

TEST(Swin, HasStages) {
  const ModelConfig c = small_swin();
  const auto expect = [&](int64_t block, const SwinStage& wanted) {
    const SwinStage found = swin_stage(c, block);
    EXPECT_EQ(found.number, wanted.number);
    EXPECT_EQ(found.rows, wanted.rows);
    EXPECT_EQ(found.columns, wanted.columns);
    EXPECT_EQ(found.width, wanted.width);
    EXPECT_EQ(found.place, wanted.place);
  };
  expect(0, {0, 5, 7, 8, 0});
  expect(1, {0, 5, 7, 8, 1});
  expect(2, {1, 3, 4, 16, 0});
  expect(3, {1, 3, 4, 16, 1});
}

// A block multiplies the rows of its own grid, and its queries see those of a window.
TEST(Swin, CostsWhatItsStagesDo) {
  const ModelConfig c = small_swin();
  const auto flops = flops_by_block(c, 35, AttentionCount::full);
  const double first = 6 * 12 * 8 * 8 + 12 * 8 * 9,
               second = (6 * 12 * 16 * 16 + 12 * 16 * 9) * 12 / 35.0,
               merging = 6 * 16 * 32 * 12 / 35.0;
  EXPECT_NEAR(flops.at(0), first, 1e-9);
  EXPECT_NEAR(flops.at(1), first, 1e-9);
  EXPECT_NEAR(flops.at(2), second + merging, 1e-9);
  EXPECT_NEAR(flops.at(3), second, 1e-9);
}

void expect_swin_refused(const ModelConfig& c, const std::string& text) {
  test::expect_error(ExitCode::usage, {text}, [&] { check(c, 1, false); });
}

TEST(Swin, RefusesWhatCannotBe) {
  ModelConfig c = small_swin();
  EXPECT_NO_THROW(check(c, 1, false));
  c.n_layers = 3;
  expect_swin_refused(c, "model.n_layers=3 is not the 4 blocks of model.depths=2,2; leave it out");
  c = small_swin();
  swin_options(c).depths = {5, -1};
  expect_swin_refused(c, "model.depths=5,-1 must be numbers above 0 whose sum is model.n_layers=4");
  swin_options(c).depths = {};
  expect_swin_refused(c, "model.depths names 0 stages; there may be 1 to 8");
  c = small_swin();
  swin_options(c).window_side = 0;
  expect_swin_refused(c, "model.window_side=0 must lie in [1, 64]");
  c = small_swin();
  c.d_ff = 1 << 24;
  expect_swin_refused(c, "model.d_ff=16777216 double with each of the 2 stages");
  c = small_swin();
  c.n_heads = 1;
  c.d_head = 1 << 22;
  expect_swin_refused(c, "model.n_heads=1 with a head width of 4194304 double with each");
  c = small_swin();
  c.positions = Positions::learned;
  expect_swin_refused(c, "give model.positions=distance");
  c = small_swin();
  c.norm_placement = NormPlacement::post;
  expect_swin_refused(c, "give model.norm_placement=pre");
  c = small_swin();
  vit_options(c).class_token = false;
  expect_swin_refused(
      c, "model.class_token=false is for model.architecture=vit, not swin; leave it out");
  c = small_swin();
  c.context = 36;
  expect_swin_refused(c, "model.context=36 is not the 35 tokens of a picture; leave it out");
}

TEST(Swin, HasOptionsOfItsOwn) {
  ModelConfig c = small_swin();
  c.architecture = &vit_architecture();
  c.positions = Positions::learned;
  c.context = 36;
  expect_swin_refused(c, " is for model.architecture=swin, not vit; leave it out");
  c = {};
  c.vocab_size = 8;
  picture_options(c).channels = 3;
  expect_swin_refused(
      c, "model.channels=3 is for model.architecture=vit, swin, mae, not gpt; leave it out");
}

}  // namespace
}  // namespace skein
