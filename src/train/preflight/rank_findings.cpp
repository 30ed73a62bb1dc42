#include <algorithm>
#include <set>
#include <vector>

#include "skein/comm/mpi.h"
#include "skein/comm/world.h"
#include "skein/core/clock.h"
#include "skein/core/files/files.h"
#include "skein/core/host.h"
#include "skein/core/strings.h"
#include "skein/train/preflight/doctor.h"

#include "facts.h"

namespace skein::train {
namespace {

constexpr double kApart = 1.0;  // seconds between clocks that are noted

// Microseconds of a small exchange, the median of some.
double exchange_time(Group& world) {
  std::vector<double> times;
  for (int i = 0; i < 51; ++i) {
    const double begin = steady_seconds();
    world.barrier();
    times.push_back((steady_seconds() - begin) * 1e6);
  }
  std::ranges::nth_element(times, times.begin() + 25);
  return times[25];
}

Finding meeting(Group& world, double seconds, size_t hosts) {
  const Launch launch = detect_launch();
  Finding made{.about = "ranks"};
  made.text =
      fmt::format("{} ({})", launch.description, launch.over_tcp ? "without MPI" : mpi_version());
  if (world.size() == 1) return made;
  made.text += fmt::format(", on {} host{}: met within {:.1f} s, an exchange takes {:.1f} us",
                           hosts, hosts == 1 ? "" : "s", seconds, exchange_time(world));
  return made;
}

}  // namespace

Finding judge_clocks(const std::vector<double>& times) {
  const auto [first, last] = std::ranges::minmax(times);
  Finding made{.about = "clocks",
               .text = fmt::format("those of all ranks are within {:.2f} s", last - first)};
  if (last - first < kApart) return made;
  made.grade = Grade::note;
  made.advice = "times in logs will not fit together; let hosts keep time by NTP (chrony)";
  return made;
}

namespace {

Finding clocks(Group& world) {
  world.barrier();
  return judge_clocks(world.all_gather(system_seconds()));
}

// The names of hosts that do not find a file that rank 0 has made.
std::set<std::string> blind_hosts(Group& world, const std::string& folder) {
  const std::string name = world.broadcast(".skein-doctor-" + unique_name(), 0),
                    path = join_path(folder, name);
  if (world.rank() == 0 && is_folder(folder)) write_new_file(path, "x");
  world.barrier();
  const std::string own = is_there(path) ? "" : host_name();
  std::set<std::string> blind;
  for (const std::string& host : world.all_gather(own)) blind.insert(host);
  blind.erase("");
  world.barrier();
  if (world.rank() == 0) remove_tree(path);
  return blind;
}

Finding sight(Group& world, const std::string& folder) {
  const std::set<std::string> blind = blind_hosts(world, folder);
  if (blind.empty()) return {.about = "one folder", .text = "all hosts see the same " + folder};
  return {.grade = Grade::bad,
          .about = "one folder",
          .text = fmt::format("what rank 0 writes into {} is not seen on {}", folder,
                              listed({blind.begin(), blind.end()})),
          .advice =
              "all ranks read and write one folder: give one on a file system that all hosts "
              "share, which is there already"};
}

}  // namespace

std::vector<Finding> examine_ranks(Group& world, double seconds, const std::string& folder) {
  std::set<std::string> hosts;
  for (const std::string& host : world.all_gather(host_name())) hosts.insert(host);
  std::vector<Finding> made{meeting(world, seconds, hosts.size())};
  if (hosts.size() > 1) {
    made.push_back(clocks(world));
    made.push_back(sight(world, folder));
  }
  return made;
}

}  // namespace skein::train
