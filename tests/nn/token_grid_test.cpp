// Windows of a grid of tokens, attention within them, and merging.
#include "skein/nn/token_grid.h"

#include <set>

#include "skein/comm/local.h"
#include "skein/nn/stack.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

using test::kWidth;

// Grids that fill their windows and that do not, shifted and not.
std::vector<GridWindows> some_windows() {
  return {{6, 6, 3, 0}, {6, 6, 3, 1}, {5, 7, 3, 1}, {4, 9, 4, 2}, {2, 3, 2, 1}};
}

// Where a place of a window lies in the rolled grid.
struct Place {
  int64_t row, column;
};
Place rolled(const GridWindows& w, int64_t i) {
  const int64_t window = i / w.places(), place = i % w.places(),
                across = w.padded_columns() / w.side;
  return {window / across * w.side + place / w.side, window % across * w.side + place % w.side};
}

TEST(GridWindows, HoldEachTokenOnce) {
  for (const GridWindows& w : some_windows()) {
    const std::vector<int32_t> tokens = tokens_of(w);
    ASSERT_EQ(std::ssize(tokens), w.count() * w.places());
    std::multiset<int32_t> found(tokens.begin(), tokens.end());
    found.erase(-1);
    EXPECT_EQ(std::ssize(found), w.rows * w.columns);
    EXPECT_EQ(std::set(found.begin(), found.end()).size(), found.size());
    for (int64_t i = 0; i < std::ssize(tokens); ++i) {
      if (tokens[i] < 0) continue;
      const Place at = rolled(w, i);
      EXPECT_EQ(tokens[i] / w.columns, (at.row + w.shift) % w.padded_rows());
      EXPECT_EQ(tokens[i] % w.columns, (at.column + w.shift) % w.padded_columns());
    }
  }
}

TEST(GridWindows, RegionsAreWhatRollingDidNotTearApart) {
  for (const GridWindows& w : some_windows()) {
    const std::vector<int32_t> regions = regions_of(w);
    for (int64_t i = 0; i < std::ssize(regions); ++i)
      for (int64_t j = i / w.places() * w.places(); j < i; ++j) {
        const Place a = rolled(w, i), b = rolled(w, j);
        const auto near = [&](int64_t x, int64_t y, int64_t length) {
          return (x + w.shift) / length == (y + w.shift) / length;
        };
        EXPECT_EQ(regions[i] == regions[j], near(a.row, b.row, w.padded_rows()) &&
                                                near(a.column, b.column, w.padded_columns()))
            << i << " " << j;
      }
  }
}

TEST(GridWindows, FitSmallGrids) {
  EXPECT_EQ(fitting_windows(7, 7, 7, true).side, 7);
  EXPECT_EQ(fitting_windows(7, 7, 7, true).shift, 0);
  EXPECT_EQ(fitting_windows(14, 14, 7, true).shift, 3);
  EXPECT_EQ(fitting_windows(14, 14, 7, false).shift, 0);
  EXPECT_EQ(fitting_windows(4, 9, 7, true).side, 4);
}

TEST(GridWindows, OffsetsTellPlacesOfAWindowApart) {
  EXPECT_EQ(offsets_in_window(2),
            (std::vector<int32_t>{4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4}));
}

struct GridSetting {
  std::unique_ptr<Group> alone = single_rank();
  data::Batch batch;
  Pass pass;

  explicit GridSetting(int64_t tokens) {
    batch.tokens = Tensor::zeros({2, tokens}, DType::i32);
    batch.sample_ids = Tensor::from(std::vector<int64_t>{5, 11}, {2});
    pass.tp = alone.get();
    pass.batch = &batch;
    pass.train = true;
  }
};

BlockSpec windowed_block(const GridWindows& windows, double dropout) {
  BlockSpec made = test::small_block(test::Family::gpt2, false, dropout);
  auto& attention = std::get<AttentionSpec>(made.sublayers[0].branch);
  attention.grid = windows;
  attention.causal = false;
  return made;
}

TEST(WindowedAttention, HasTheGradientsOfItsDifferences) {
  for (const GridWindows& windows : some_windows()) {
    const int64_t tokens = windows.rows * windows.columns;
    GridSetting setting(tokens);
    Parameters parameters(DType::f64, 0, 1);
    const std::vector<BlockSpec> specs(1, windowed_block(windows, 0.2));
    const Stack stack(parameters, 0, 0, specs);
    test::initialize_all(parameters, true);
    test::check_gradients(
        [&](const test::Checked& at) { return stack(at.inputs[0], setting.pass); },
        {{2, tokens, kWidth}}, {});
  }
}

// A change of one token is seen in its window and region alone.
TEST(WindowedAttention, SeesItsWindowOnly) {
  for (const GridWindows& windows : some_windows()) {
    const int64_t tokens = windows.rows * windows.columns;
    GridSetting setting(tokens);
    setting.pass.train = false;
    Parameters parameters(DType::f64, 0, 1);
    const std::vector<BlockSpec> specs(1, windowed_block(windows, 0));
    const Stack stack(parameters, 0, 0, specs);
    test::initialize_all(parameters, false);
    const std::vector<int32_t> places = tokens_of(windows), regions = regions_of(windows);
    std::vector<int64_t> place(tokens);
    for (int64_t i = 0; i < std::ssize(places); ++i)
      if (places[i] >= 0) place[places[i]] = i;
    const NoGrad no_grad;
    const Tensor x = test::random_tensor({2, tokens, kWidth}, 3),
                 before = stack(Var(x), setting.pass).value().clone();
    for (const int64_t changed : {int64_t{0}, tokens / 2, tokens - 1}) {
      const Tensor other = x.clone();
      other.data<double>()[changed * kWidth] += 1;
      const Tensor after = stack(Var(other), setting.pass).value();
      for (int64_t token = 0; token < tokens; ++token) {
        const int64_t a = place[token], b = place[changed];
        const bool seen = a / windows.places() == b / windows.places() &&
                          (windows.shift == 0 || regions[a] == regions[b]);
        const double *was = before.data<double>() + token * kWidth,
                     *is = after.data<double>() + token * kWidth;
        EXPECT_EQ(!std::equal(was, was + kWidth, is), seen) << changed << " by " << token;
      }
    }
  }
}

TEST(PatchMergings, LayNeighboursBesideEachOther) {
  const int64_t rows = 3, columns = 5, merged = 6;
  Parameters parameters(DType::f64, 0, 1);
  const PatchMerging merging(parameters, "merging",
                             {rows, columns, {"", kWidth, ops::Norm::layer, 1e-5, true}, 0.3});
  test::initialize_all(parameters, true);
  EXPECT_EQ(parameters.find("merging.reduction.weight")->shape, (Shape{2 * kWidth, 4 * kWidth}));
  GridSetting setting(rows * columns);
  test::check_gradients(
      [&](const test::Checked& at) { return merging(at.inputs[0], setting.pass); },
      {{2, rows * columns, kWidth}}, {});
  // The last one is of the corner and of three places that the grid was filled up with.
  const NoGrad no_grad;
  const Tensor x = test::random_tensor({2, rows * columns, kWidth}, 3),
               before = merging(Var(x), setting.pass).value().clone();
  ASSERT_EQ(before.shape(), (Shape{2, merged, 2 * kWidth}));
  for (int64_t token = 0; token < rows * columns; ++token) {
    const Tensor other = x.clone();
    other.data<double>()[token * kWidth] += 1;
    const Tensor after = merging(Var(other), setting.pass).value();
    for (int64_t i = 0; i < merged; ++i) {
      const double *was = before.data<double>() + i * 2 * kWidth,
                   *is = after.data<double>() + i * 2 * kWidth;
      EXPECT_EQ(!std::equal(was, was + 2 * kWidth, is),
                i == token / columns / 2 * 3 + token % columns / 2);
    }
  }
}

TEST(StochasticDepth, SendsWholeSamplesPastABranch) {
  GridSetting setting(3);
  std::vector<BlockSpec> specs = test::small_blocks(test::Family::gpt2);
  give_skips(specs, 0, 2, 0.5);
  EXPECT_EQ(specs[0].sublayers[1].skip, 0);
  EXPECT_EQ(specs[1].sublayers[0].skip, 0.5);
  std::vector<BlockSpec> one{specs[0]};
  give_skips(one, 0, 1, 0.5);
  EXPECT_EQ(one[0].sublayers[0].skip, 0);
  specs = {specs[1]};
  specs[0].sublayers.resize(1);
  Parameters parameters(DType::f64, 0, 1);
  const Stack stack(parameters, 0, 0, specs);
  test::initialize_all(parameters, true);
  test::check_gradients([&](const test::Checked& at) { return stack(at.inputs[0], setting.pass); },
                        {{2, 3, kWidth}}, {});
  const NoGrad no_grad;
  const Tensor x = test::random_tensor({2, 3, kWidth}, 3);
  setting.pass.train = false;
  const Tensor whole = stack(Var(x), setting.pass).value().clone();
  setting.pass.train = true;
  int past = 0, taken = 0;
  for (int64_t step = 0; step < 40; ++step) {
    setting.pass.step = step;
    const Tensor found = stack(Var(x), setting.pass).value();
    for (int64_t sample = 0; sample < 2; ++sample) {
      const bool skipped =
          found.data<double>()[sample * 3 * kWidth] == x.data<double>()[sample * 3 * kWidth];
      ++(skipped ? past : taken);
      for (int64_t i = sample * 3 * kWidth; i < (sample + 1) * 3 * kWidth; ++i) {
        const double in = x.data<double>()[i], branch = whole.data<double>()[i] - in;
        EXPECT_NEAR(found.data<double>()[i], skipped ? in : in + 2 * branch, 1e-12);
      }
    }
  }
  EXPECT_GT(past, 20);
  EXPECT_GT(taken, 20);
}

}  // namespace
}  // namespace skein
