// Starts what the launcher asks for: MPI under mpirun or srun, a single rank otherwise.
#pragma once

#include <memory>
#include <string>

#include "skein/comm/group.h"

namespace skein {

struct Launch {
  // OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_SIZE > 1, or SLURM_PROCID with SLURM_NTASKS (of the step) > 1
  bool under_launcher = false;
  int ranks = 1;                // as the launcher says; 0 when it does not say
  int rank = 0;                 // of this process, as the launcher says
  std::string description;      // "mpirun, 4 ranks", "srun, 8 ranks", "no launcher, 1 rank"
};

// Reads the environment only.
Launch detect_launch();

// The group of all ranks of the job; log's rank is set. A usage error that says how the launcher must be
// called, when its ranks would not find each other. Warns when ranks share cores; ranks of a host that the launcher bound to
// nothing take equal shares of its cores, unless OMP_NUM_THREADS asks for more threads than fit one.
std::unique_ptr<Group> start_world();

// Collective. Cores of this host for each rank on it, at least 1: threads that a rank may use without being in the way of others.
int cores_per_rank(Group& world);

}  // namespace skein
