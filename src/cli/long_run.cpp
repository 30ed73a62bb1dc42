#include "long_run.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "command.h"
#include "skein/checkpoint/directory.h"
#include "skein/comm/world.h"
#include "skein/core/log.h"
#include "skein/core/stop_signals.h"

namespace skein {
namespace {

constexpr int kRequeue = static_cast<int>(ExitCode::requeue);

// Names in a folder, none where there is no folder. `error`: another reason for which it cannot be read.
std::vector<std::string> names_in(const std::string& folder, bool& error) {
  std::vector<std::string> names;
  std::error_code code;
  std::filesystem::directory_iterator entry(folder, code), end;
  for (; !code && entry != end; entry.increment(code)) names.push_back(entry->path().filename().string());
  if (code && code != std::errc::no_such_file_or_directory && code != std::errc::not_a_directory) error = true;
  return names;
}

bool has_commit(const std::string& run, bool& error) {
  const auto names = names_in(run + "/checkpoints", error);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return CheckpointName::parse(name).has_value(); });
}

// Whether a start goes on from something: a commit, or a sweep's results. Also where that cannot be told: the next
// start says why.
bool can_go_on(const std::string& dir, Folder kind) {
  if (dir.empty()) return false;
  bool error = false;
  if (kind == Folder::of_one_run) return has_commit(dir, error) || error;
  for (const std::string& folder : {dir, dir + "/cells"})
    for (const std::string& name : names_in(folder, error))
      if (name == "results.csv" || has_commit(folder + "/" + name, error)) return true;
  return error;
}

// Of a thread of its own, while others are anywhere.
[[noreturn]] void end_now(int signal, const std::string& dir, Folder kind, Group* world) {
  const bool goes_on = can_go_on(dir, kind);
  const int rank = world ? world->rank() : detect_launch().rank;
  if (rank == 0)
    log::write(log::Level::info, goes_on ? fmt::format("stopped as asked, while no step was under way; the same command goes on from what {} holds", dir)
                                         : "stopped as asked, before there was anything to go on from");
  const int code = goes_on ? kRequeue : code_without_commit(signal);
  if (world) world->abort(code);
  std::_Exit(code);
}

}  // namespace

void expect_stops() {
  catch_stop_signals([](int signal) { end_now(signal, "", Folder::of_one_run, nullptr); });
}

std::unique_ptr<Group> begin_run(const std::string& dir, Folder kind) {
  catch_stop_signals([=](int signal) { end_now(signal, dir, kind, nullptr); });
  std::unique_ptr<Group> world = begin_world();
  catch_stop_signals([=, group = world.get()](int signal) { end_now(signal, dir, kind, group); });
  return world;
}

int code_of_run(bool stopped, bool committed) {
  if (!stopped) return static_cast<int>(ExitCode::done);
  return committed ? kRequeue : code_without_commit(SIGTERM);
}

}  // namespace skein
