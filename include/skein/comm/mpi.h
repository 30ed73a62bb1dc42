// The transport over MPI, for host memory only. Its source is the one file that includes <mpi.h>.
#pragma once

#include <memory>
#include <string>

#include "skein/comm/group.h"

namespace skein {

// Starts MPI (MPI_THREAD_MULTIPLE where it has that, so that a watchdog can end the job from its
// thread) and returns the group of all ranks. Call it once in a process. Destroying the last group
// ends MPI, unless an exception is on its way: then the launcher ends the job.
// largest_piece: most bytes of a message or block that one call of MPI moves, at most 1 GiB; tests
// pass less to have longer ones cut. share_memory: groups whose ranks are on one host exchange
// tensors through memory they share.
std::unique_ptr<Group> start_mpi(int64_t largest_piece = int64_t{1} << 30,
                                 bool share_memory = true);

// "Open MPI v4.1.4" and the like, for --version.
std::string mpi_version();

}  // namespace skein
