#include "skein/scaling/plan/plan.h"

namespace skein::scaling::plan {
namespace {

fit::Interval over(double amount, const Machine& m) {
  return {amount / m.share, amount / m.high(), amount / m.low(), kUnknown};
}

fit::Interval times(const fit::Interval& x, double factor) {
  return {x.value * factor, x.low * factor, x.high * factor, kUnknown};
}

}  // namespace

Cost cost_of(double flops, const Machine& m) {
  Cost cost;
  if (m.peak <= 0) return cost;
  const double devices = m.count;
  cost.seconds = over(flops / (devices * m.peak), m);
  cost.device_hours = times(cost.seconds, devices / 3600);
  if (m.price > 0) cost.price = times(cost.device_hours, m.price);
  if (m.watts > 0) cost.kwh = times(cost.device_hours, m.watts * m.pue / 1000);
  if (m.watts > 0 && m.carbon > 0) cost.co2_kg = times(cost.kwh, m.carbon / 1000);
  return cost;
}

}  // namespace skein::scaling::plan
