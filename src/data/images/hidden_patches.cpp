#include "skein/data/images/hidden_patches.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {

PatchChoice hide_largest(std::span<const double> numbers, int64_t hidden) {
  const auto patches = std::ssize(numbers);
  SKEIN_CHECK(hidden > 0 && hidden < patches);
  std::vector<int32_t> order(patches);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return numbers[a] < numbers[b]; });
  const auto border = order.begin() + (patches - hidden);
  PatchChoice made{{order.begin(), border}, {border, order.end()}};
  std::ranges::sort(made.seen);
  std::ranges::sort(made.hidden);
  return made;
}

PatchChoice hide_patches(const PictureForm& form, Draws draws) {
  std::vector<double> numbers(form.patches());
  for (double& number : numbers) number = draws.uniform();
  return hide_largest(numbers, form.hidden);
}

PatchUnits units_of(std::span<const float> patch) {
  constexpr double kEpsilon = 1e-6;
  const auto count = static_cast<double>(patch.size());
  const double mean = std::accumulate(patch.begin(), patch.end(), 0.0) / count;
  double squares = 0;
  for (const float number : patch) squares += (number - mean) * (number - mean);
  return {mean, std::sqrt(squares / (count - 1) + kEpsilon)};
}

Batch hiding_batch(int64_t count, const PictureForm& form) {
  const int64_t numbers = form.patch_numbers();
  Batch made;
  made.tokens = filled(count, form.tokens(), 0);
  made.positions = filled(count, form.tokens(), 0);
  made.features = Tensor::empty({count, form.seen(), numbers}, DType::f32);
  made.targets = filled(count, form.hidden, 0);
  made.values = Tensor::empty({count, form.hidden, numbers}, DType::f32);
  made.weights = Tensor::empty({count, form.hidden}, DType::f32);
  std::ranges::fill(made.weights.span<float>(), 1.0f);
  made.sample_ids = Tensor::zeros({count}, DType::i64);
  return made;
}

void fill_hiding(const Batch& batch, int64_t row, std::span<const float> numbers,
                 const PatchChoice& choice, const PictureForm& form) {
  const int64_t width = form.patch_numbers();
  const int32_t first = form.class_token ? 1 : 0;
  const auto patch = [&](int32_t number) { return numbers.subspan(number * width, width); };
  int32_t* position = row_of<int32_t>(batch.positions, row, first);
  float* seen = batch.features.data<float>() + row * form.seen() * width;
  for (const int32_t number : choice.seen) {
    *position++ = number + first;
    seen = std::ranges::copy(patch(number), seen).out;
  }
  int32_t* target = row_of<int32_t>(batch.targets, row);
  float* value = batch.values.data<float>() + row * form.hidden * width;
  for (const int32_t number : choice.hidden) {
    *target++ = number + first;
    const PatchUnits units = form.normed ? units_of(patch(number)) : PatchUnits{};
    for (int64_t i = 0; i < width; ++i) {
      const float one = patch(number)[said_number(form, i)];
      *value++ = static_cast<float>((one - units.mean) / units.deviation);
    }
  }
}

}  // namespace skein::data
