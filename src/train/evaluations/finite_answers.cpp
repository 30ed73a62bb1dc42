#include "skein/train/evaluations/finite_answers.h"

#include <algorithm>
#include <cmath>

#include "skein/checkpoint/finite.h"
#include "skein/core/error.h"

namespace skein::train {

std::string reason_of_non_finite(const TrainedModel& source, DType dtype, Group& world,
                                 const std::string& otherwise) {
  const std::string here = world.rank() == 0 ? non_finite_weights(source.info).text() : "";
  const std::string weights = world.broadcast(here, 0);
  if (!weights.empty())
    return fmt::format("Of its weights, {}; take an earlier checkpoint, or convert a good source",
                       weights);
  if (!otherwise.empty()) return otherwise;
  return fmt::format(
      "Its weights are finite, but what is computed with them grows beyond what {} holds; take an "
      "earlier checkpoint{}",
      name_of(dtype), dtype == DType::f32 ? "" : ", or compute in f32");
}

void require_finite(const Tensor& numbers, const TrainedModel& source, DType dtype, Group& world) {
  const auto odd = std::ranges::count_if(numbers.span<float>(),
                                         [](float number) { return !std::isfinite(number); });
  if (odd > 0)
    fail("{} of {} numbers that {} gives are NaN or infinite. {}", odd, numbers.size(),
         source.info.path, reason_of_non_finite(source, dtype, world));
}

}  // namespace skein::train
