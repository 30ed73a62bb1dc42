#include "skein/train/commit_schedule.h"

#include <algorithm>
#include <cmath>

#include "skein/comm/flight_recorder.h"
#include "skein/core/clock.h"
#include "skein/core/strings.h"

namespace skein::train {
namespace {

constexpr double kMinute = 60, kHour = 3600;
// Before a commit's cost is known, and the shortest of all.
constexpr double kFirst = 60, kShortest = 10;

}  // namespace

double best_interval(double cost, double failures) { return std::sqrt(2 * cost * failures); }

bool saves_beside(const CheckpointConfig& config, DeviceKind device) {
  return config.async.value_or(device == DeviceKind::cuda);  // whose processors are free
}

CommitSchedule::CommitSchedule(const CheckpointConfig& config, std::function<double()> clock)
    : config_(config),
      clock_(clock ? std::move(clock) : steady_seconds),
      made_(clock_()),
      last_(made_) {}

double CommitSchedule::interval() const {
  if (config_.mean_time_between_failures == 0) return kMinute * config_.minutes;
  const double best =
      cost_ == 0
          ? kFirst
          : std::max(kShortest, best_interval(cost_, kHour * config_.mean_time_between_failures));
  return config_.minutes > 0 ? std::min(best, kMinute * config_.minutes) : best;
}

bool CommitSchedule::due(int64_t step, Group& world) const {
  if (config_.every > 0 && step % config_.every == 0) return true;
  const double seconds = interval();
  return seconds > 0 && world.any(world.rank() == 0 && clock_() - last_ >= seconds);
}

void CommitSchedule::begun(double stood_still) {
  last_ = clock_();
  cost_ = std::max(stood_still, 1e-3);
  (times_++ == 0 ? first_ : later_) += stood_still;
}

std::string CommitSchedule::told_cost() const {
  if (times_ == 0) return "";
  const double share = 100 * (first_ + later_) / std::max(clock_() - made_, 1e-9);
  const std::string each =
      times_ == 1
          ? fmt::format("a checkpoint, {:.2g} s", first_)
          : fmt::format("{} checkpoints, {:.2g} s for the first and {:.2g} s for each later one",
                        times_, first_, later_ / static_cast<double>(times_ - 1));
  return fmt::format("training stood still for {}: {:.2g}% of the time", each, share);
}

std::string CommitSchedule::next_attempt(const std::string& step) const {
  const double seconds = interval();
  if (seconds == 0) return fmt::format("the next attempt is {} {}s away", config_.every, step);
  return fmt::format("the next attempt is {} away{}", readable_seconds(seconds),
                     config_.every > 0 ? fmt::format(", or {} {}s", config_.every, step) : "");
}

}  // namespace skein::train
