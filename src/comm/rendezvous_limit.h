// How long ranks that a launcher started wait for each other in MPI's start and in the first
// exchanges, of start_world and cores_per_rank: one that died before the launcher knew it, or that
// never calls MPI, would keep the others for ever.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "skein/comm/world.h"

namespace skein {

class RendezvousLimit {
 public:
  // where: "in MPI_Init". Nothing is watched where the launch has one rank. Who has not met the
  // others after so many seconds says so and ends with code 75.
  RendezvousLimit(const Launch& launch, int seconds, std::string where);
  // The ranks have met.
  ~RendezvousLimit();
  RendezvousLimit(const RendezvousLimit&) = delete;
  RendezvousLimit& operator=(const RendezvousLimit&) = delete;

 private:
  bool met_within(int seconds);
  [[noreturn]] void end(const Launch& launch, int seconds, const std::string& where);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool met_ = false;
  std::thread thread_;
};

}  // namespace skein
