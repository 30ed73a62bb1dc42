// Starts what the environment asks for: MPI under mpirun or srun, TCP where it says where the ranks
// meet, a single rank otherwise. TCP is asked for by (see comm/tcp/tcp.h):
//
//   SKEIN_RENDEZVOUS               host:port of rank 0, or file:///path
//   SKEIN_RANK, SKEIN_RANKS        with it: TCP, whatever the launcher
//   MASTER_ADDR, MASTER_PORT,      the same, where WORLD_SIZE is above 1 and no launcher of MPI is
//   RANK, WORLD_SIZE               at work
//   SKEIN_RENDEZVOUS_TIMEOUT       seconds for all ranks to come, over MPI, too; 300
//   SKEIN_KEEPALIVE                seconds after which a silent host counts as lost; 20
//   SKEIN_RENDEZVOUS_SECRET        what all ranks of the job know, 16 bytes or more
//   SKEIN_RENDEZVOUS_SECRET_FILE   a file of mode 0600 that holds it
//   SKEIN_RENDEZVOUS_OPEN          1: no secret is needed, though other hosts can reach rank 0
#pragma once

#include <memory>
#include <string>

#include "skein/comm/group.h"

namespace skein {

struct Launch {
  // OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_SIZE > 1, SLURM_PROCID with SLURM_NTASKS (of the step) >
  // 1, or TCP
  bool under_launcher = false;
  int ranks = 1;  // as the launcher says; 0 when it does not say
  int rank = 0;   // of this process, as the launcher says
  // "mpirun, 4 ranks", "srun, 8 ranks", "TCP at host:port, 4 ranks", "no launcher, 1 rank"
  std::string description;
  bool over_tcp = false;
};

// Reads the environment only, and takes it as it is: start_world checks it.
Launch detect_launch();

// The group of all ranks of the job; log's rank is set. A usage error that says how the launcher
// must be called, or which variable is wrong, when its ranks would not find each other; errors of
// start_tcp. Ends the process with code 75 where another rank does not come in time over MPI, or
// stands still before this returns. Warns when ranks share cores; ranks of a host that the launcher
// bound to nothing take equal shares of its cores, unless OMP_NUM_THREADS asks for more threads
// than fit one.
std::unique_ptr<Group> start_world();

// Collective. Cores of this host for each rank on it, or their time that its cgroup has, at least
// 1: threads that a rank may use without being in the way of others. Ends as start_world does where
// another rank does not come.
int cores_per_rank(Group& world);

}  // namespace skein
