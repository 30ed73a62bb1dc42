#include "skein/comm/meeting.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "skein/core/clock.h"

namespace skein {
namespace {

constexpr double kBetweenMeetings = 1;  // seconds
constexpr int64_t kMostGrowth = 4;

int64_t next_interval(int64_t interval, double seconds) {
  if (seconds * kMostGrowth <= kBetweenMeetings) return interval * kMostGrowth;
  return std::max<int64_t>(1, static_cast<int64_t>(interval * kBetweenMeetings / seconds));
}

}  // namespace

Meeting::Meeting(Group& world, std::function<bool()> asked)
    : world_(world), asked_(std::move(asked)) {}

void Meeting::begin() { interval_ = left_ = 1, meetings_ = 0; }

void Meeting::pass() {
  if (--left_ > 0) return;
  meet(true);
  left_ = interval_;
}

void Meeting::finish() {
  while (meet(false)) {
  }
  begin();
}

bool Meeting::meet(bool working) {
  const double now = steady_seconds(), seconds = now - last_;
  const Tensor told = Tensor::from(
      std::vector<double>{asked_() ? 1.0 : 0.0, working ? 1.0 : 0.0, meetings_ > 0 ? seconds : 0.0},
      {3});
  world_.all_reduce_max(told).wait();
  const double* all = told.data<double>();
  if (all[0] != 0) {
    begin();
    throw Interruption{};
  }
  // The first one only begins to measure.
  if (meetings_++ > 0) interval_ = next_interval(interval_, all[2]);
  last_ = now;
  return all[1] != 0;
}

}  // namespace skein
