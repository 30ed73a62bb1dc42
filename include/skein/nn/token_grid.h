// Tokens that lie in a grid: attention within windows of it, and merging of neighbours (Liu and
// others, "Swin transformer", 2021).
#pragma once

#include <string>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/nn/distance_bias.h"
#include "skein/nn/layers.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"

namespace skein {

// Square windows that cover rows x columns tokens, which lie row by row. The grid is filled up
// right and below to whole windows, and then rolled up and left by `shift`.
struct GridWindows {
  int64_t rows = 0, columns = 0;
  int64_t side = 7;   // of a window, in tokens
  int64_t shift = 0;  // below `side`

  int64_t padded_rows() const { return rounded_up(rows, side); }
  int64_t padded_columns() const { return rounded_up(columns, side); }
  int64_t places() const { return side * side; }  // of a window
  int64_t count() const { return padded_rows() * padded_columns() / places(); }
};
// A grid that has no more than `side` rows or columns gets smaller windows, which are not shifted.
GridWindows fitting_windows(int64_t rows, int64_t columns, int64_t side, bool shifted);

// By window and place in it: the token there, -1 for what the grid was filled up with.
std::vector<int32_t> tokens_of(const GridWindows& windows);
// By window and place in it: a number that places have in common if they are near each other in the
// grid that was not rolled.
std::vector<int32_t> regions_of(const GridWindows& windows);
// By query and key of a window of `side`: (row + side - 1) (2 side - 1) + column + side - 1, the
// query's row and column less the key's.
std::vector<int32_t> offsets_in_window(int64_t side);

// Attention's sight of a grid. Its tensor is "NAME.weight" [heads, (2 side - 1)^2], which the
// scores get by offset; heads are divided by tensor-parallel ranks.
class WindowSight {
 public:
  WindowSight(Parameters& parameters, const std::string& name, int64_t heads,
              const GridWindows& windows, double deviation);
  // x [B,N,C] -> [B*W,M,C], a sample a window; of y [B*W,M,C] the tokens' rows, [B,N,C].
  Var cut(const Var& x) const;
  Var joined(const Var& y) const;
  // [B,heads/t,M,M], of B samples.
  Var bias(int64_t samples) const;
  // The tokens see those of their own window and region. Dropout draws by sample and token, and
  // `how` has the samples' ids where it drops.
  void confine(int64_t samples, ops::AttentionArguments& how) const;

 private:
  int64_t tokens() const { return windows_.rows * windows_.columns; }

  GridWindows windows_;
  Device device_;
  Weight table_;
};

// Each 2 x 2 tokens become one of twice the width: their rows beside each other, in the order
// (0,0), (1,0), (0,1), (1,1) of (row, column), a norm, and a product. Grids of odd sides are filled
// up with zeros.
struct PatchMergingSpec {
  int64_t rows = 0, columns = 0;  // of the grid that is merged
  NormSpec norm;                  // its width is that of what is merged; the name is replaced
  double deviation = 0.02;
};

// Tensors, for norm.width = C: "NAME.norm.gain/bias" [4C], "NAME.reduction.weight" [2C,4C].
class PatchMerging {
 public:
  PatchMerging(Parameters& parameters, const std::string& name, const PatchMergingSpec& spec);
  // x [B,rows*columns,C] -> [B,ceil(rows/2)*ceil(columns/2),2C].
  Var operator()(const Var& x, const Pass& pass) const;

 private:
  PatchMergingSpec spec_;
  NormLayer norm_;
  Linear reduction_;
};

}  // namespace skein
