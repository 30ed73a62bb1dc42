// Approach 1 as what it goes by: at which computes it knows the best size, for runs as they are
// drawn.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skein/scaling/fit/isoflop.h"

namespace skein::scaling::fit {

class Envelope {
 public:
  virtual ~Envelope() = default;
  // By rising C, for chosen runs (by index, again where they were drawn again): where the lowest
  // loss lies between a smaller and a larger size.
  virtual std::vector<EnvelopePoint> of(std::span<const size_t> chosen) const = 0;
  virtual size_t runs() const = 0;
  virtual int64_t budgets() const = 0;  // that are looked at
  // Why an envelope of too few sizes is none, and what would make it one.
  virtual std::string problem(const std::vector<EnvelopePoint>& envelope) const = 0;
};

constexpr int64_t kFewestWinners = 3;  // sizes among the winners
int64_t sizes_of(const std::vector<EnvelopePoint>& envelope);

// By where runs ended. points: sorted by C. Runs whose C is within `tolerance` are of one budget.
std::unique_ptr<Envelope> envelope_of_last_points(std::vector<ScalingPoint> points,
                                                  double tolerance);

}  // namespace skein::scaling::fit
