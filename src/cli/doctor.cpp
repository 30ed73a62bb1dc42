#include "skein/train/preflight/doctor.h"

#include <set>

#include "skein/comm/world.h"
#include "skein/core/clock.h"
#include "skein/core/host.h"
#include "skein/core/log.h"

#include "command.h"

namespace skein::cli {
namespace {

using train::Finding;
using train::Grade;

// Of this rank's host and what it sees of the folder.
std::vector<Finding> examine_here(const std::string& folder) {
  std::vector<Finding> made = train::examine_host();
  for (Finding& finding : train::examine_folder(folder)) made.push_back(std::move(finding));
  return made;
}

// Collective. One block of lines for each host, made by the first of its ranks; rank 0 has them
// all.
std::string examine_hosts(Group& world, const std::string& folder, Grade& worst) {
  const std::vector<std::string> hosts = world.all_gather(host_name());
  const size_t own = static_cast<size_t>(world.rank());
  const bool first = std::ranges::find(hosts, hosts[own]) == hosts.begin() + world.rank();
  const std::vector<Finding> found = first ? examine_here(folder) : std::vector<Finding>();
  const bool several = std::set(hosts.begin(), hosts.end()).size() > 1;
  std::string text;
  const std::vector<std::string> blocks = world.all_gather(train::findings_text(found));
  for (size_t rank = 0; rank < blocks.size(); ++rank)
    if (!blocks[rank].empty())
      text += (several ? fmt::format("\nhost {}\n", hosts[rank]) : "") + blocks[rank];
  worst =
      static_cast<Grade>(world.max(static_cast<int64_t>(std::max(worst, train::worst_of(found)))));
  return text;
}

// Ranks that do not find each other are a finding, too; this process still looks around.
int examine_alone(const Error& error, const std::string& folder) {
  if (detect_launch().rank > 0) throw error;
  std::vector<Finding> found{{Grade::bad, "ranks", error.what(), ""}};
  for (Finding& finding : examine_here(folder)) found.push_back(std::move(finding));
  answer(train::findings_text(found));
  return static_cast<int>(ExitCode::failure);
}

int examine_all(Group& world, double seconds, const std::string& folder) {
  std::vector<Finding> ranks = train::examine_ranks(world, seconds, folder);
  Grade worst = train::worst_of(ranks);
  const std::string hosts = examine_hosts(world, folder, worst);
  if (world.rank() == 0) answer(train::findings_text(ranks) + hosts);
  return static_cast<int>(worst == Grade::bad ? ExitCode::failure : ExitCode::done);
}

}  // namespace

int doctor_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  std::string folder = "runs";
  Options options("skein doctor",
                  "What this machine, or all hosts of a job, are like for runs: a line each, with "
                  "what to do. Ends with 1 where a run would fail.");
  options.add("run.dir", folder, "where runs would write");
  if (!parse(options, args, false)) return 0;
  require(!folder.empty(), "run.dir is empty; give the folder that runs would write to");
  const double begin = steady_seconds();
  try {
    world = begin_world();
  } catch (const Error& error) {
    return examine_alone(error, folder);
  }
  return examine_all(*world, steady_seconds() - begin, folder);
}

}  // namespace skein::cli
