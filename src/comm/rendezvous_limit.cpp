#include "rendezvous_limit.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "skein/core/host.h"
#include "skein/core/last_moment.h"
#include "skein/core/log.h"

namespace skein {
namespace {

// Seconds between ranks that would speak, and at most how many times: a launcher takes one or two
// to end the others.
constexpr int kSpeakInTurn = 3, kMostTurns = 2;
constexpr auto kMostForLog = std::chrono::seconds(10);  // whoever reads it may hang

}  // namespace

RendezvousLimit::RendezvousLimit(const Launch& launch, int seconds, std::string where) {
  if (launch.ranks == 1) return;
  thread_ = std::thread([this, launch, seconds, where = std::move(where)] {
    if (!met_within(seconds + kSpeakInTurn * std::min(launch.rank, kMostTurns)))
      end(launch, seconds, where);
  });
}

RendezvousLimit::~RendezvousLimit() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    met_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

// By looks a second apart, so that no time counts in which this process was stopped itself.
bool RendezvousLimit::met_within(int seconds) {
  std::unique_lock lock(mutex_);
  for (int looks = 0; looks < seconds && !met_; ++looks)
    wake_.wait_for(lock, std::chrono::seconds(1), [this] { return met_; });
  return met_;
}

// Not by MPI_Abort: MPI may be what hangs. Launchers end the job of a process that just leaves.
void RendezvousLimit::end(const Launch& launch, int seconds, const std::string& where) {
  const int code = static_cast<int>(ExitCode::watchdog);
  end_anyway(kMostForLog, code);
  log::write(
      log::Level::error,
      fmt::format(
          "rank {} (host {}) has waited {} s {}: another rank has ended or stands still{}. Look "
          "for the first error of the job and at the hosts of its other ranks, then start it "
          "again. Where ranks may take longer to come, raise SKEIN_RENDEZVOUS_TIMEOUT",
          launch.rank, host_name(), seconds, where,
          launch.over_tcp ? "" : ", or a program of the job does not start MPI"));
  std::_Exit(code);
}

}  // namespace skein
