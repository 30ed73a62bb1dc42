// Invariants.
//
// Exchange `number` is in slot number % kKept until number + kKept begins. Its writer makes the
// slot's version odd, writes the words, and makes it even again; a reader that finds an odd
// version, or another one afterwards, has nothing. Words are atomic, so that neither sees half of
// one.
#include "skein/comm/flight_recorder.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <pthread.h>
#include <type_traits>
#include <unistd.h>

#include "skein/core/clock.h"
#include "skein/core/error.h"

namespace skein {
namespace {

std::string size_text(int64_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) * 0x1p-20);
  if (bytes >= 1 << 10) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) * 0x1p-10);
  return fmt::format("{} bytes", bytes);
}

thread_local int nested = 0;

// What tells exchanges of a step apart; sizes may differ from step to step. Names are literals, so
// their addresses do.
uint64_t fingerprint(const BegunExchange& one) {
  std::array<uint64_t, 4> part{};
  static_assert(sizeof(part) == sizeof(one.part));
  std::memcpy(part.data(), one.part, sizeof(part));
  uint64_t hash = 0;
  const auto mix = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  mix(reinterpret_cast<uint64_t>(one.exchange.what));
  mix(reinterpret_cast<uint64_t>(one.exchange.group));
  mix(static_cast<uint64_t>(one.exchange.peer));
  mix(static_cast<uint64_t>(one.where.micro_batch));
  for (const uint64_t word : part) mix(word);
  return hash;
}

}  // namespace

std::string Exchange::str() const {
  const std::string size = bytes > 0 ? " of " + size_text(bytes) : "";
  if (peer < 0) return fmt::format("{}{} in the {} group", what, size, group);
  return fmt::format("{}{} {} rank {} of the {} group", what, size, outgoing ? "to" : "from", peer,
                     group);
}

BegunExchange BegunExchange::here(const Exchange& exchange, double now) {
  BegunExchange made{exchange, skein::where(), "", now};
  std::strncpy(made.part, made.where.part, sizeof(made.part) - 1);
  made.where.part = "";
  return made;
}

std::string BegunExchange::str() const {
  Where then = where;
  then.part = part;
  return fmt::format("{} ({})", exchange.str(), then.str());
}

const std::shared_ptr<FlightRecorder>& FlightRecorder::of_this_thread() {
  thread_local const auto own = std::make_shared<FlightRecorder>();
  return own;
}

FlightRecorder::FlightRecorder() : thread_(gettid()) {
  if (pthread_getcpuclockid(pthread_self(), &clock_) != 0) clock_ = 0;
}

double FlightRecorder::processor_seconds() const {
  timespec used{};
  if (clock_ == 0 || clock_gettime(clock_, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

void FlightRecorder::join(const char* group, int number) {
  for (Group& one : groups_) {
    const char* name = one.name.load(std::memory_order_relaxed);
    if (name && std::strcmp(name, group) != 0) continue;
    one.number = number;
    one.turn = 0;
    one.name = group;
    return;
  }
  SKEIN_CHECK(false);
}

std::vector<GroupTurn> FlightRecorder::turns() const {
  std::vector<GroupTurn> found;
  for (const Group& one : groups_)
    if (const char* name = one.name) found.push_back({name, one.number, one.turn});
  return found;
}

void FlightRecorder::follow(const BegunExchange& exchange) {
  const uint64_t own = fingerprint(exchange), pair = (before_ * 31 + own) | 1;
  before_ = own;
  step_ = std::max(step_.load(std::memory_order_relaxed), exchange.where.step);
  if (full_) return;
  for (uint64_t place = pair >> 32, end = place + 8; place < end; ++place) {
    uint64_t& there = pairs_[place % kPairs];
    if (there == pair) return;
    if (there != 0) continue;
    there = pair;
    new_in_step_ = step_.load(std::memory_order_relaxed);
    return;
  }
  full_ = true;
  new_in_step_ = 0;
}

void FlightRecorder::begin(const Exchange& exchange, int64_t turn, double now) {
  now_ = {BegunExchange::here(exchange, now), last_.load(std::memory_order_relaxed) + 1, turn};
  follow(now_);
  for (Group& one : groups_)
    if (turn > 0 && one.name == exchange.group) one.turn = turn;
  write(now_);
  last_.store(now_.number, std::memory_order_release);
  last_sign_ = now;
}

void FlightRecorder::end(double now) {
  now_.ended = now;
  waited_ += now - now_.begun;
  write(now_);
  last_sign_ = now;
}

void FlightRecorder::write(const Entry& entry) {
  static_assert(std::is_trivially_copyable_v<Entry>);
  std::array<uint64_t, kWords> words{};
  std::memcpy(words.data(), &entry, sizeof(entry));
  Slot& slot = slots_[static_cast<size_t>(entry.number) % kKept];
  const uint64_t version = slot.version.load(std::memory_order_relaxed);
  slot.version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (size_t w = 0; w < kWords; ++w) slot.words[w].store(words[w], std::memory_order_relaxed);
  slot.version.store(version + 2, std::memory_order_release);
}

std::optional<FlightRecorder::Entry> FlightRecorder::read(int64_t number) const {
  const Slot& slot = slots_[static_cast<size_t>(number) % kKept];
  const uint64_t before = slot.version.load(std::memory_order_acquire);
  std::array<uint64_t, kWords> words{};
  for (size_t w = 0; w < kWords; ++w) words[w] = slot.words[w].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (before % 2 || slot.version.load(std::memory_order_relaxed) != before) return {};
  Entry found;
  std::memcpy(static_cast<void*>(&found), words.data(), sizeof(found));
  if (found.number != number) return {};
  return found;
}

std::vector<FlightRecorder::Entry> FlightRecorder::kept() const {
  const int64_t last = last_.load(std::memory_order_acquire);
  std::vector<Entry> found;
  for (int64_t number = std::max<int64_t>(1, last + 1 - static_cast<int64_t>(kKept));
       number <= last; ++number)
    if (const auto entry = read(number)) found.push_back(*entry);
  return found;
}

std::optional<FlightRecorder::Entry> FlightRecorder::under_way() const {
  const int64_t last = last_.load(std::memory_order_acquire);
  if (last == 0) return {};
  const auto entry = read(last);
  return entry && entry->ended == 0 ? entry : std::nullopt;
}

std::string FlightRecorder::Entry::line() const {
  const std::string time = ended == 0 ? "under way" : fmt::format("{:.3f} s", ended - begun);
  return fmt::format("{:>8} {:>8}  {}  {}", number, turn, str(), time);
}

void FlightRecorder::enter(const char* phase, double now) {
  phase_ = phase;
  last_sign_ = now;
}

void FlightRecorder::took(const char* phase, double seconds) {
  for (Phase& one : phases_) {
    const char* name = one.name.load(std::memory_order_relaxed);
    if (name && std::strcmp(name, phase) != 0) continue;
    one.slowest = std::max<double>(one.slowest, seconds);
    one.name = phase;
    return;
  }
  SKEIN_CHECK(false);
}

double FlightRecorder::limit(const char* phase) const {
  for (const Phase& one : phases_)
    if (const char* name = one.name; name && std::strcmp(name, phase) == 0)
      return std::max(kLeastLimit, 3 * one.slowest);
  return kFirstLimit;
}

std::string in_another_exchange() {
  const auto entry = FlightRecorder::of_this_thread()->under_way();
  return fmt::format("{}: the ranks are not in the same exchange, so one has left one out",
                     entry ? "; under way was " + entry->str() : "");
}

WatchedPhase::WatchedPhase(const char* name)
    : before_(where().phase), here_(WhereScope::phase(name)) {
  FlightRecorder::of_this_thread()->enter(name, steady_seconds());
}

WatchedPhase::~WatchedPhase() {
  FlightRecorder::of_this_thread()->enter(before_, steady_seconds());
}

TimedPhase::TimedPhase(const char* name) : here_(name), begun_(steady_seconds()) {}

TimedPhase::~TimedPhase() {
  FlightRecorder::of_this_thread()->took(skein::where().phase, steady_seconds() - begun_);
}

InFlight::InFlight(const Exchange& exchange, int64_t turn) {
  if (nested++ == 0) FlightRecorder::of_this_thread()->begin(exchange, turn, steady_seconds());
}

InFlight::~InFlight() {
  if (--nested == 0) FlightRecorder::of_this_thread()->end(steady_seconds());
}

}  // namespace skein
