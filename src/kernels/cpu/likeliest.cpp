#include "skein/kernels/likeliest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "skein/core/profile.h"

#include "parallel.h"
#include "vector.h"

namespace skein::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Of a number from 0 to 2^51 the nearest whole one: it stands in the lowest bits of the sum.
inline int64_t whole(double x) {
  constexpr double kWhole = 0x1p52;
  return std::bit_cast<int64_t>(x + kWhole) - std::bit_cast<int64_t>(kWhole);
}

int64_t weight_of(const float* logits, int64_t valid, double top, double units) {
  unsigned unordered = 0;
  for (int64_t c = 0; c < valid; ++c) unordered |= logits[c] != logits[c];
  if (unordered)
    return -1 -
           (std::find_if(logits, logits + valid, [](float x) { return std::isnan(x); }) - logits);
  if (!std::isfinite(top)) return 0;
  return lane_sum<int64_t>(
      valid, [=](int64_t c) { return whole(falling_exponential(logits[c] - top) * units); });
}

// The best `count` so far, the best first.
class Best {
 public:
  Best(int32_t* columns, float* found, int64_t count)
      : columns_(columns), found_(found), count_(count) {
    std::fill_n(columns, count, -1);
    std::fill_n(found, count, -kInfinity);
  }

  float worst() const { return found_[count_ - 1]; }
  // A logit above the worst, of a column after all before.
  void take(int32_t column, float logit) {
    int64_t place = count_ - 1;
    for (; place > 0 && found_[place - 1] < logit; --place) {
      found_[place] = found_[place - 1];
      columns_[place] = columns_[place - 1];
    }
    found_[place] = logit;
    columns_[place] = column;
  }

 private:
  int32_t* columns_;
  float* found_;
  int64_t count_;
};

// Most columns are not among the best: they are passed by many at a time.
void find_best(const float* logits, int64_t valid, Best best) {
  constexpr int64_t kTogether = 256;
  for (int64_t begin = 0; begin < valid; begin += kTogether) {
    const int64_t count = std::min(kTogether, valid - begin);
    const float* from = logits + begin;
    if (!(lane_max<float>(count, [=](int64_t c) { return from[c]; }) > best.worst())) continue;
    for (int64_t c = 0; c < count; ++c)
      if (from[c] > best.worst()) best.take(static_cast<int32_t>(begin + c), from[c]);
  }
}

}  // namespace

double exponential_units(int64_t ids) {
  const auto most = static_cast<double>(std::bit_ceil(static_cast<uint64_t>(ids)));
  return std::min(0x1p51, 0x1p62 / most);
}

void row_weights(Cpu, const Tensor& logits, int64_t valid, const Tensor& maximum, double units,
                 Out weights) {
  const Span span("row weights");
  const int64_t columns = logits.dim(1);
  const float *from = logits.data<float>(), *top = maximum.data<float>();
  int64_t* to = weights->data<int64_t>();
  parallel_ranges(logits.dim(0), 1, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      to[row] = weight_of(from + row * columns, valid, top[row], units);
  });
}

void forbid(Cpu, const Tensor& places, Out logits) {
  for (int64_t place : places.span<int64_t>()) logits->data<float>()[place] = -kInfinity;
}

void likeliest(Cpu, const Tensor& logits, int64_t valid, Out columns, Out found) {
  const Span span("likeliest");
  const int64_t width = logits.dim(1), count = found->dim(1);
  const float* from = logits.data<float>();
  int32_t* ids = columns->data<int32_t>();
  float* best = found->data<float>();
  if (count == 0) return;
  parallel_ranges(logits.dim(0), 1, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      find_best(from + row * width, valid, {ids + row * count, best + row * count, count});
  });
}

}  // namespace skein::kernels
