#include "skein/checkpoint/claim.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/directory.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/core/log.h"

#include "open.h"

namespace skein::checkpoint {
namespace {

using Time = ClaimOptions::Time;

double seconds(Time time) { return std::chrono::duration<double>(time).count(); }

// The start before this one, as long as it may be at work.
class OlderStart {
 public:
  OlderStart(std::string directory, int64_t number)
      : directory_(std::move(directory)), number_(number) {
    if (number > 0) file_ = read_generation(directory_, number);
  }

  bool may_live() {
    if (!file_ || file_->heartbeat.empty() || life_of(file_->writer) == Life::dead) return false;
    const auto now = heartbeat_at(join_path(directory_, file_->heartbeat));
    changed_ = now && *now != sign_;
    sign_ = now.value_or("");
    return now.has_value();
  }
  // Whether there was another sign of life at the last call of may_live than at the one before.
  bool changed() const { return changed_; }
  std::string name() const { return named(*file_); }

  void refuse_newer() const {
    const int64_t latest = latest_generation(directory_);
    if (latest > number_) refuse_second_start(directory_, latest);
  }

  [[noreturn]] static void refuse_second_start(const std::string& directory, int64_t number) {
    throw Error(ExitCode::superseded,
                fmt::format("another start was faster: {} has taken {}. Only one process at a time "
                            "writes a run, so this one ends; it has changed nothing",
                            named_generation(directory, number), directory));
  }

 private:
  std::string directory_, sign_;
  int64_t number_;
  std::optional<Generation> file_;
  bool changed_ = false;
};

// One that may live.
void wait_for(OlderStart& older, const ClaimOptions& options) {
  if (options.takeover > Time(0))
    log::warn(
        "{} seems to be at work. This start waits up to {:g} s (run.takeover) for its end, then "
        "takes over",
        older.name(), seconds(options.takeover));
  const Time begun = options.now();
  Time heard = begun;
  while (options.now() - begun < options.takeover) {
    if (options.now() - heard >= options.silence)
      return log::warn("{} has given no sign of life for {:g} s and counts as dead", older.name(),
                       seconds(options.silence));
    options.sleep(options.pause);
    older.refuse_newer();
    if (!older.may_live()) return log::info("{} has ended", older.name());
    if (older.changed()) heard = options.now();
  }
  log::warn(
      "this start takes the run over from {}, which may commit no more and ends at its next "
      "checkpoint",
      older.name());
}

// The one id of all that lies in the folder; "" when nothing there has one. What is damaged tells
// none. Commits that a generation tells to ignore count as well: of another run, it must hide none.
std::string id_of_all(const std::string& directory, const std::string& wanted) {
  std::string run = wanted, origin = "run.id";
  const auto compare = [&](const std::string& id, const std::string& from) {
    require(id.empty() || run.empty() || id == run,
            "{} is of the run {}, but by {} this run is {}: one folder holds one run. Move what "
            "does not belong there to another place, or name another run.dir",
            from, id, origin, run);
    if (!id.empty() && run.empty()) std::tie(run, origin) = std::pair(id, from);
  };
  for (const int64_t number : generation_numbers(directory))
    if (const auto file = read_generation(directory, number))
      compare(file->run, join_path(directory, generation_name(number)));
  for (const CheckpointName& name : all_checkpoints(directory)) {
    const std::string path = join_path(directory, name.text());
    Manifest manifest;
    refusal_of([&] { manifest = read_manifest(path); });
    compare(manifest.run, path);
  }
  return run;
}

ClaimOptions with_clock(ClaimOptions options) {
  if (!options.now)
    options.now = [] {
      return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
    };
  if (!options.sleep) options.sleep = [](Time time) { std::this_thread::sleep_for(time); };
  return options;
}

// What the claims of this process would leave if it ended now: signs of life, and of those that are
// not settled their generation files and the folders they made.
class Traces {
 public:
  static Traces& all() {
    static auto* traces = new Traces;  // a thread may look while the process ends
    return *traces;
  }
  // What is in a folder after the folder. stays: once the claim is settled.
  void add(const RunClaim* claim, const std::string& path, bool stays) {
    const std::lock_guard lock(mutex_);
    all_.push_back({claim, path, stays});
  }
  void settle(const RunClaim* claim) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const Trace& one) { return one.claim == claim && one.stays; });
  }
  // Those of one claim; of all for null.
  void remove(const RunClaim* claim) {
    std::vector<std::string> left;
    {
      const std::lock_guard lock(mutex_);
      for (const Trace& one : all_)
        if (!claim || one.claim == claim) left.insert(left.begin(), one.path);
      std::erase_if(all_, [&](const Trace& one) { return !claim || one.claim == claim; });
    }
    for (const std::string& path : left) std::remove(path.c_str());
  }

 private:
  struct Trace {
    const RunClaim* claim;
    std::string path;
    bool stays;
  };
  std::mutex mutex_;  // never held while files are touched
  std::vector<Trace> all_;
};

std::string about(const Generation& mine) {
  return nlohmann::json{{"host", mine.writer.host},
                        {"process", mine.writer.process},
                        {"generation", mine.number},
                        {"run", mine.run}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

RunClaim::RunClaim(const std::string& directory, const ClaimOptions& options, Group& world)
    : directory_(directory) {
  const std::string taken = from_root(world, [&] {
    check_run_id(options.run, "run.id");
    try {
      add_folders(make_directories(directory_));
      take(with_clock(options), world.size());
    } catch (const SystemError& error) {
      withdraw();
      fail("the checkpoint directory {} cannot be used: {}", directory_, with_advice(error));
    } catch (...) {
      withdraw();
      throw;
    }
    return fmt::format("{} {}", generation_, run_);
  });
  generation_ = std::stoll(taken);
  run_ = taken.substr(taken.find(' ') + 1);
}

// `made` folders of the path were not there.
void RunClaim::add_folders(int made) const {
  std::error_code ignored;
  auto path = std::filesystem::absolute(directory_, ignored).lexically_normal();
  std::vector<std::string> paths;
  for (; made > 0; --made, path = path.parent_path()) paths.insert(paths.begin(), path.string());
  for (const std::string& each : paths) Traces::all().add(this, each, true);
}

// The sign of life is there before the file that names it: who reads that file finds it, unless
// this start has ended.
void RunClaim::take(const ClaimOptions& options, int ranks) {
  const int64_t number = next_generation(directory_);
  OlderStart older(directory_, number - 1);
  if (older.may_live()) {
    id_of_all(directory_, options.run);  // what is refused need not wait
    wait_for(older, options);
  }
  run_ = id_of_all(directory_, options.run);
  if (run_.empty()) run_ = new_run_id();
  const auto committed = committed_checkpoints(directory_);
  const Generation mine{.number = number,
                        .run = run_,
                        .base = committed.empty() ? "" : committed.front().text(),
                        .ranks = ranks,
                        .writer = own_identity(),
                        .heartbeat = fmt::format("{}{:06}.{}", kHeartbeat, number, unique_name())};
  const std::string sign = join_path(directory_, mine.heartbeat);
  Traces::all().add(this, sign, false);
  heartbeat_ = std::make_unique<Heartbeat>(sign, about(mine), options.renewal);
  if (!write_generation(directory_, mine)) OlderStart::refuse_second_start(directory_, number);
  Traces::all().add(this, join_path(directory_, generation_name(number)), true);
  generation_ = number;
}

void RunClaim::settle(Group& world) {
  from_root(world, [&] {
    refuse_superseded(directory_, generation_);
    Traces::all().settle(this);
    clear_older(directory_, generation_);
    return "";
  });
}

bool RunClaim::superseded() const { return latest_generation(directory_) > generation_; }

RunClaim::~RunClaim() { withdraw(); }

void RunClaim::withdraw() noexcept {
  heartbeat_.reset();
  Traces::all().remove(this);
}

void RunClaim::withdraw_all() noexcept {
  constexpr auto kLongest = std::chrono::seconds(1);  // storage may not answer
  try {
    auto gone = std::make_shared<std::promise<void>>();
    const auto removed = gone->get_future();
    std::thread([gone] {
      Traces::all().remove(nullptr);
      gone->set_value();
    }).detach();
    removed.wait_for(kLongest);
  } catch (const std::exception& error) {
    log::warn("what this start has left beside the checkpoints stays: {}", error.what());
  }
}

}  // namespace skein::checkpoint
