#include "skein/comm/world.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sched.h>
#include <unistd.h>

#include "skein/comm/local.h"
#include "skein/comm/mpi.h"
#include "skein/core/host.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"

#include "comm/cores.h"
#include "comm/rendezvous_limit.h"
#include "comm/tcp/environment.h"

namespace skein {
namespace {

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

// 0 when the variable is not set or no positive number.
int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  const long value = text ? std::strtol(text, nullptr, 10) : 0;
  return value > 0 && value <= INT_MAX ? narrow<int>(value) : 0;
}

// Tasks of this process's Slurm step; 0 outside of one. An interactive allocation has no
// SLURM_PROCID.
int slurm_tasks() {
  if (!is_set("SLURM_PROCID")) return 0;
  const int of_step = number_in("SLURM_STEP_NUM_TASKS");
  return of_step > 0 ? of_step : number_in("SLURM_NTASKS");
}

int launched_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (is_set(variable)) return number_in(variable);
  return 0;
}

Launch launched(const char* by, int ranks) {
  return {true, ranks, launched_rank(),
          fmt::format("{}, {} rank{}", by, ranks, ranks == 1 ? "" : "s")};
}

Launch launched_by_tcp() {
  const tcp::TcpJob job = tcp::guess_of_environment();
  return {true, job.ranks, job.rank,
          fmt::format("TCP at {}, {} rank{}", job.rendezvous, job.ranks, job.ranks == 1 ? "" : "s"),
          true};
}

std::unique_ptr<Group> start_tcp_world() {
  const tcp::TcpJob job = tcp::job_of_environment();
  log::set_rank(job.rank);
  return start_tcp(job);
}

void require_rendezvous() {
  for (const char* variable : {"SKEIN_RANK", "SKEIN_RANKS"})
    require(!is_set(variable),
            "{}={} is set, but SKEIN_RENDEZVOUS is not; set it to host:port of rank 0, or to "
            "file:///path of a file that all ranks see",
            variable, std::getenv(variable));
}

void require_pmix() {
  if (is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMIX_RANK")) return;
  const int tasks = slurm_tasks();
  require(
      tasks <= 1,
      "Slurm started this process as one of {} tasks (SLURM_PROCID is set) but without PMIx "
      "(PMIX_RANK is not), so MPI would run {} separate jobs of one rank. Start with 'srun "
      "--mpi=pmix' or with 'mpirun' inside the allocation; for a single rank use 'srun --ntasks=1'",
      tasks, tasks);
}

std::unique_ptr<Group> start_mpi_within_limit(const Launch& launch) {
  const RendezvousLimit limit(launch, tcp::rendezvous_timeout(), "in MPI_Init");
  return start_mpi();
}

std::unique_ptr<Group> start_mpi_world(const Launch& launch) {
  require_rendezvous();
  require_pmix();
  if (!launch.under_launcher) tcp::require_whole_master();
  std::unique_ptr<Group> world =
      launch.under_launcher ? start_mpi_within_limit(launch) : single_rank();
  log::set_rank(world->rank());
  require(launch.ranks <= 1 || world->size() > 1,
          "the launcher ({}) and MPI do not belong together: {} sees a single rank. Use the mpirun "
          "of that MPI, or under Slurm 'srun --mpi=pmix'",
          launch.description, mpi_version());
  return world;
}

struct Host {
  Host() { CPU_ZERO(&cores); }
  int ranks = 0;
  cpu_set_t cores;  // those its ranks may use together: a bound rank sees only its own
};

// The mask of cores, then the host's name; "" when they cannot be had.
std::string own_binding() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  char name[HOST_NAME_MAX + 1] = "";
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0 || gethostname(name, HOST_NAME_MAX) != 0)
    return "";
  return std::string(reinterpret_cast<const char*>(&cores), sizeof(cores)) + name;
}

std::string host_of(const std::string& binding) {
  return binding.empty() ? "" : binding.substr(sizeof(cpu_set_t));
}

cpu_set_t mask_of(const std::string& binding) {
  cpu_set_t mask;
  std::memcpy(&mask, binding.data(), sizeof(mask));
  return mask;
}

// By name; none for a rank whose binding cannot be had.
std::map<std::string, Host> hosts_of(Group& world) {
  std::map<std::string, Host> hosts;
  for (const std::string& binding : world.all_gather(own_binding())) {
    if (binding.empty()) continue;
    Host& host = hosts[host_of(binding)];
    const cpu_set_t cores = mask_of(binding);
    CPU_OR(&host.cores, &host.cores, &cores);
    ++host.ranks;
  }
  return hosts;
}

void warn_of_shared_cores(Group& world) {
  for (const auto& [name, host] : hosts_of(world))
    if (host.ranks > CPU_COUNT(&host.cores))
      log::warn(
          "{} ranks share {} core(s) on host {} and will run slowly. Start fewer ranks there, or "
          "let them use more cores (mpirun --bind-to none, srun --cpus-per-task)",
          host.ranks, CPU_COUNT(&host.cores), name);
}

std::vector<int> cores_in(const cpu_set_t& mask) {
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  return cores;
}

// Ranks of one host that the launcher left free to run anywhere take equal shares of the cores, so
// that no two meet on one.
void settle_on_own_cores(Group& world) {
  const std::string own = own_binding();
  int ranks = 0, before = 0, rank = 0;
  bool free = !own.empty();
  for (const std::string& binding : world.all_gather(own)) {
    if (host_of(binding) == host_of(own)) {
      free = free && binding == own;
      ++ranks;
      before += rank < world.rank();
    }
    ++rank;
  }
  if (!free || ranks == 1) return;
  const std::vector<int> cores = by_core(cores_in(mask_of(own)));
  const int share = narrow<int>(cores.size()) / ranks;
  if (share == 0 || number_in("OMP_NUM_THREADS") > share) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (int i = 0; i < share; ++i) CPU_SET(cores[before * share + i], &mask);
  sched_setaffinity(0, sizeof(mask), &mask);
}

}  // namespace

Launch detect_launch() {
  if (tcp::rendezvous_is_set()) return launched_by_tcp();
  if (const int ranks = number_in("OMPI_COMM_WORLD_SIZE")) return launched("mpirun", ranks);
  if (tcp::master_is_set() && !is_set("PMIX_RANK") && number_in("PMI_SIZE") <= 1)
    return launched_by_tcp();
  const int tasks = slurm_tasks();
  if (tasks > 1 || (tasks == 1 && is_set("PMIX_RANK"))) return launched("srun", tasks);
  if (is_set("PMIX_RANK")) return {true, 0, launched_rank(), "a PMIx launcher"};
  if (const int ranks = number_in("PMI_SIZE"); ranks > 1) return launched("mpiexec", ranks);
  return {false, 1, 0, "no launcher, 1 rank"};
}

std::unique_ptr<Group> start_world() {
  const Launch launch = detect_launch();
  std::unique_ptr<Group> world = launch.over_tcp ? start_tcp_world() : start_mpi_world(launch);
  const RendezvousLimit limit(launch, tcp::rendezvous_timeout(), "in the first exchanges");
  warn_of_shared_cores(*world);
  settle_on_own_cores(*world);
  return world;
}

int cores_per_rank(Group& world) {
  const RendezvousLimit limit(detect_launch(), tcp::rendezvous_timeout(), "in the first exchanges");
  const auto hosts = hosts_of(world);
  const std::string binding = own_binding();
  if (binding.empty()) return 1;
  const Host& host = hosts.at(host_of(binding));
  const double granted = host_limits().cores;
  const int cores = CPU_COUNT(&host.cores),
            used = granted > 0 ? std::min(cores, static_cast<int>(granted)) : cores;
  return std::max(1, used / host.ranks);
}

}  // namespace skein
