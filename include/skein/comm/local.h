// Ranks as threads of one process, for tests and for runs without a launcher.
#pragma once

#include <functional>
#include <memory>

#include "skein/comm/group.h"

namespace skein {

// A group of one: the world of a process started without a launcher.
std::unique_ptr<Group> single_rank();

// Runs body(group) on `ranks` threads, each with its own group of that size, and sets
// log::set_rank. When a body throws, all waiting peers are woken with an error, every thread is
// joined, and the first exception thrown by a body (not the ones caused by waking) is rethrown;
// Error with its exit code when a body called abort and none threw. Waiting for a rank whose body
// has returned is an error, not a hang.
void run_ranks(int ranks, const std::function<void(Group&)>& body);

}  // namespace skein
