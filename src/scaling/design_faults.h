// Whether runs can tell a law's unknowns apart.
#pragma once

#include <span>
#include <vector>

#include "skein/scaling/results.h"

namespace skein {

// A usage error for a point that is not positive and finite.
void require_positive(std::span<const ScalingPoint> points);
// A usage error that names what is missing for E + A/N^alpha + B/D^beta.
void require_determined(std::span<const ScalingPoint> points, size_t clusters);
// A usage error where all losses are one.
void require_varied_loss(std::span<const ScalingPoint> points);

}  // namespace skein
