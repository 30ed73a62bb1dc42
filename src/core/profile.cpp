#include "skein/core/profile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein {
namespace {

struct Lane {
  std::vector<ProfileEvent> events;
  uint64_t profile = 0;  // the one that its events belong to
  int depth = 0;
};

std::atomic<uint64_t> running_now = 0;  // number of the profile, 0 when none runs
uint64_t last_number = 0;
std::mutex mutex;
std::vector<std::shared_ptr<Lane>> lanes;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Lane& lane_of(uint64_t profile) {
  thread_local const std::shared_ptr<Lane> own = std::make_shared<Lane>();
  if (own->profile != profile) {
    const std::lock_guard lock(mutex);
    own->events.clear();
    own->depth = 0;
    own->profile = profile;
    lanes.push_back(own);
  }
  return *own;
}

}  // namespace

int64_t Profile::start() {
  const std::lock_guard lock(mutex);
  SKEIN_CHECK_EQ(running_now.load(), uint64_t{0});
  lanes.clear();
  running_now = ++last_number;
  return now();
}

std::vector<ProfileEvent> Profile::stop() {
  running_now = 0;
  const std::lock_guard lock(mutex);
  std::vector<ProfileEvent> all;
  for (size_t thread = 0; thread < lanes.size(); ++thread)
    for (ProfileEvent event : lanes[thread]->events) {
      if (event.end == 0) continue;
      event.thread = narrow<int>(thread);
      all.push_back(event);
    }
  lanes.clear();
  return all;
}

bool Profile::running() { return running_now.load(std::memory_order_relaxed) != 0; }

Span::Span(const char* name, double flops, double bytes) {
  const uint64_t profile = running_now.load(std::memory_order_relaxed);
  if (!profile) return;
  Lane& lane = lane_of(profile);
  slot_ = std::ssize(lane.events);
  lane.events.push_back({name, now(), 0, flops, bytes, lane.depth++, 0});
}

Span::~Span() {
  const uint64_t profile = running_now.load(std::memory_order_relaxed);
  if (slot_ < 0 || !profile) return;
  Lane& lane = lane_of(profile);
  if (slot_ >= std::ssize(lane.events)) return;
  lane.events[slot_].end = now();
  --lane.depth;
}

std::vector<ProfileShare> shares_of(const std::vector<ProfileEvent>& events, int thread) {
  std::map<std::string, ProfileShare> by_name;
  std::vector<const ProfileEvent*> open;
  for (const ProfileEvent& event : events) {
    if (event.thread != thread) continue;
    while (!open.empty() && open.back()->end <= event.begin) open.pop_back();
    const double seconds = (event.end - event.begin) * 1e-9;
    ProfileShare& share = by_name[event.name];
    share.name = event.name;
    ++share.count;
    share.seconds += seconds;
    share.flops += event.flops;
    share.bytes += event.bytes;
    if (!open.empty()) by_name[open.back()->name].seconds -= seconds;
    open.push_back(&event);
  }
  std::vector<ProfileShare> all;
  for (auto& [name, share] : by_name) all.push_back(share);
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return all;
}

}  // namespace skein
