// The watchdogs of a job: what they look at, whom they ask, and how they end it.
#include <chrono>
#include <cstdlib>
#include <thread>
#include <unistd.h>

#include "skein/comm/group.h"
#include "skein/comm/watchdog.h"
#include "skein/core/clock.h"
#include "skein/core/host.h"
#include "skein/core/log.h"
#include "skein/tensor/cuda.h"

namespace skein {

std::string speaker_of(Device device) {
  const std::string rank = fmt::format("rank {} (host {}", log::rank(), host_name());
  return device.kind == DeviceKind::cuda
             ? fmt::format("{}, GPU {})", rank, cuda::address(device.index))
             : rank + ")";
}

namespace {

std::optional<WaitingFor> waiting_of(const FlightRecorder& recorder) {
  const auto entry = recorder.under_way();
  if (!entry) return {};
  return WaitingFor{entry->str(), entry->exchange.group, entry->turn, entry->exchange.peer,
                    steady_seconds() - entry->begun};
}

// But for whether the thread is at work.
Standing standing_at_once(int rank, const FlightRecorder& recorder) {
  Standing made;
  made.rank = rank;
  made.host = host_name();
  made.process = getpid();
  made.thread = recorder.thread();
  made.step = recorder.step();
  made.new_in_step = recorder.new_in_step();
  for (const GroupTurn& turn : recorder.turns())
    made.turns.push_back({turn.group, turn.number, turn.turn});
  made.waiting = waiting_of(recorder);
  const auto kept = recorder.kept();
  if (!made.waiting && !kept.empty()) made.last = kept.back().str();
  for (const FlightRecorder::Entry& entry : kept) made.exchanges.push_back(entry.line());
  return made;
}

// Takes a moment: whether the thread is at work shows only over time. One that waits for a
// processor is, too.
Standing standing_of(int rank, const FlightRecorder& recorder) {
  constexpr double kMoment = 0.05;
  const double before = recorder.processor_seconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(kMoment));
  const bool running = recorder.processor_seconds() - before > kMoment / 4 ||
                       is_runnable(getpid(), recorder.thread());
  Standing made = standing_at_once(rank, recorder);
  made.running = running;
  return made;
}

Watchdog::Settings settings_in(Group& world, Device device, double timeout) {
  Watchdog::Settings settings;
  settings.speaker = speaker_of(device);
  settings.timeout = timeout;
  settings.host = FlightRecorder::of_this_thread();
  settings.end = [&world](ExitCode code) {
    world.abort(static_cast<int>(code));
    if (world.size() == 1) std::_Exit(static_cast<int>(code));  // nobody else would end it
  };
  return settings;
}

// Collective.
std::shared_ptr<Watchdog> with_roll_call(Watchdog::Settings settings, Group& world,
                                         const std::string& folder) {
  world.set_name("world", 0);
  settings.folder = folder;
  settings.own = [rank = world.rank(), host = settings.host] { return standing_of(rank, *host); };
  settings.roll = RollCall::begin(world, standing_at_once(world.rank(), *settings.host));
  return std::make_shared<Watchdog>(std::move(settings));
}

}  // namespace

std::shared_ptr<Watchdog> job_watchdog(Group& world, Device device, double timeout) {
  if (world.size() == 1) return nullptr;
  return with_roll_call(settings_in(world, device, timeout), world, "");
}

std::shared_ptr<Watchdog> run_watchdog(Group& world, Device device, double timeout,
                                       const std::string& folder) {
  Watchdog::Settings settings = settings_in(world, device, timeout);
  settings.silence = true;
  return with_roll_call(std::move(settings), world, folder);
}

std::shared_ptr<Watchdog> root_watchdog(Group& world, double timeout, double allowance) {
  constexpr double kOtherFirst = 10;
  if (world.rank() > 1) return nullptr;
  Watchdog::Settings settings = settings_in(world, Device{}, timeout);
  settings.allowance = allowance + (world.rank() == 1 ? kOtherFirst : 0);
  settings.silence = true;
  return std::make_shared<Watchdog>(std::move(settings));
}

}  // namespace skein
