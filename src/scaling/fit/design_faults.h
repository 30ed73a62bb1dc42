// Whether runs can tell a law's unknowns apart.
#pragma once

#include <cstddef>
#include <span>

#include "skein/scaling/laws/results.h"

namespace skein::scaling::fit {

// Different runs that a law takes at least.
constexpr size_t kLeastRuns = 6;

// A usage error for a point that is not positive and finite.
void require_positive(std::span<const ScalingPoint> points);
// A usage error that names what is missing for E + A/N^alpha + B/D^beta.
void require_determined(std::span<const ScalingPoint> points, size_t clusters);
// What a design of one size, of one D or of D as a power of N cannot separate: "alpha from beta".
struct DesignFault {
  const char *of_one_size, *of_one_d, *of_a_line;
};
// Usage errors that name it: of N or D that are one value.
void require_sizes_and_tokens(std::span<const ScalingPoint> points, const DesignFault& what);
// Of D that is a power of N; N must differ.
void require_no_line(std::span<const ScalingPoint> points, const DesignFault& what);
// Of the over-training law, whose terms are powers of D/N and C: one of them is one value.
void require_ratios_and_budgets(std::span<const ScalingPoint> points);
// A usage error where all losses are one.
void require_varied_loss(std::span<const ScalingPoint> points);

}  // namespace skein::scaling::fit
