// Laws as sums of powers.
#pragma once

#include <span>
#include <vector>

#include "skein/scaling/laws/law.h"

#include "bootstrap.h"

namespace skein {

PowerSum chinchilla_sum(std::span<const ScalingPoint> points);
ChinchillaLaw chinchilla_law(const PowerSum& sum, const Unknowns& at);

// With alpha = beta.
PowerSum equal_slopes_sum(std::span<const ScalingPoint> points);
ChinchillaLaw equal_slopes_law(const PowerSum& sum, const Unknowns& at);

PowerSum kaplan_sum(std::span<const ScalingPoint> points);
KaplanLaw kaplan_law(const PowerSum& sum, const Unknowns& at);

PowerSum over_training_sum(std::span<const ScalingPoint> points);
OverTrainingLaw over_training_law(const PowerSum& sum, const Unknowns& at);

PowerSum offset_sum(std::span<const XY> pairs);
OffsetPowerLaw offset_law(const PowerSum& sum, const Unknowns& at);

// In their own order, equal ones once; a usage error unless all are positive and finite.
OrderedRows order_points(std::span<const ScalingPoint> points);
std::vector<ScalingPoint> arranged(std::span<const ScalingPoint> points, const OrderedRows& rows);

}  // namespace skein
