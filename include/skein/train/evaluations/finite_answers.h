// What a model makes of samples must be numbers: NaN and infinite ones are no answers.
#pragma once

#include <string>

#include "skein/comm/group.h"
#include "skein/tensor/tensor.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// Collective. Why what the model makes, computed in `dtype`, is not finite, and what to do: its
// weights are not; or where all of them are, `otherwise`, or by itself that numbers have grown too
// large.
std::string reason_of_non_finite(const TrainedModel& source, DType dtype, Group& world,
                                 const std::string& otherwise = "");

// Collective. An error with that reason where some of `numbers`, f32 and the same on every rank,
// are NaN or infinite.
void require_finite(const Tensor& numbers, const TrainedModel& source, DType dtype, Group& world);

}  // namespace skein::train
