#include "long_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "skein/checkpoint/claim.h"
#include "skein/checkpoint/directory.h"
#include "skein/comm/flight_recorder.h"
#include "skein/comm/watchdog.h"
#include "skein/comm/world.h"
#include "skein/core/error.h"
#include "skein/core/last_moment.h"
#include "skein/core/log.h"
#include "skein/core/stop_signals.h"
#include "skein/models/architecture.h"
#include "skein/train/run_folder.h"

namespace skein::cli {
namespace {

constexpr int kRequeue = static_cast<int>(ExitCode::requeue);
constexpr auto kMostForEnd = std::chrono::milliseconds(1500),
               kMostForOthers = std::chrono::milliseconds(500),
               kRankZeroFirst = std::chrono::milliseconds(300);

// Names in a folder, none where there is no folder. `error`: another reason for which it cannot be
// read. Not by all_checkpoints (directory.h), which tries for seconds to read what cannot be read.
std::vector<std::string> names_without_retries(const std::string& folder, bool& error) {
  std::vector<std::string> names;
  std::error_code code;
  std::filesystem::directory_iterator entry(folder, code), end;
  for (; !code && entry != end; entry.increment(code))
    names.push_back(entry->path().filename().string());
  if (code && code != std::errc::no_such_file_or_directory && code != std::errc::not_a_directory)
    error = true;
  return names;
}

bool has_commit(const std::string& run, bool& error) {
  const auto names = names_without_retries(run + "/checkpoints", error);
  return std::ranges::any_of(names, [](const std::string& name) {
    return checkpoint::CheckpointName::parse(name).has_value();
  });
}

// Whether a start goes on from something: a commit, or a sweep's results. Also where that cannot be
// told: the next start says why.
bool can_go_on(const std::string& dir, Folder kind) {
  bool error = false;
  if (kind == Folder::of_one_run) return has_commit(dir, error) || error;
  for (const std::string& folder : {dir, dir + "/cells"})
    for (const std::string& name : names_without_retries(folder, error))
      if (name == "results.csv" || has_commit(folder + "/" + name, error)) return true;
  return error;
}

// What is known of a run when it is asked to stop.
struct Run {
  std::string dir;
  Folder kind = Folder::of_one_run;
  Launch launch = detect_launch();  // by main: another thread must not read the environment
  Group* world = nullptr;           // null: its ranks have not met
};

// As launchers end the other ranks where one has failed: then to begin again by itself would be to
// fail again.
bool may_be_for_a_failure(int signal, const Run& run) {
  return signal == SIGTERM && !run.world && run.launch.ranks != 1;
}

// Before the ranks have met, what comes to one comes to all, from a launcher: rank 0 says so.
void tell_of_stop(int signal, const Run& run, bool goes_on) {
  const int rank = run.world ? run.world->rank() : run.launch.rank;
  if (rank > 0 && !run.world) return;
  // Where rank 0 was asked as well, it speaks for all and ends the job.
  if (rank > 0) std::this_thread::sleep_for(kRankZeroFirst);
  log::write(
      log::Level::info,
      fmt::format(
          "{}asked to stop ({}) {}", rank > 0 ? fmt::format("rank {}: ", rank) : "",
          ::sigabbrev_np(signal),
          goes_on ? fmt::format(
                        "while no step was under way; the same command goes on from what {} holds",
                        run.dir)
          : may_be_for_a_failure(signal, run) ? "before the ranks had met"
                                              : "before there was anything to go on from"));
}

[[noreturn]] void end_job(const Run& run, int code) {
  if (run.world) run.world->abort(code);
  std::_Exit(code);
}

// Of a thread of its own, while others are anywhere. The folder's storage may hang, and who reads
// the log.
[[noreturn]] void end_now(int signal, const Run& run) {
  const bool may_go_on = !run.dir.empty() && !may_be_for_a_failure(signal, run);
  std::atomic<int> code = may_go_on ? kRequeue : code_without_commit(signal);
  end_anyway(kMostForEnd, [&] {
    end_anyway(kMostForOthers, code);
    end_job(run, code);
  });
  const bool goes_on = may_go_on && can_go_on(run.dir, run.kind);
  if (!goes_on) code = code_without_commit(signal);
  checkpoint::RunClaim::withdraw_all();
  tell_of_stop(signal, run, goes_on);
  end_job(run, code);
}

void end_at_once(const Run& run) {
  catch_stop_signals([run](int signal) { end_now(signal, run); });
}

}  // namespace

void expect_stops() { end_at_once({}); }

std::unique_ptr<Group> begin_run(const std::string& dir, Folder kind) {
  Run run{.dir = dir, .kind = kind};
  end_at_once(run);
  take_away_at_end(checkpoint::RunClaim::withdraw_all);
  std::unique_ptr<Group> world = begin_world();
  run.world = world.get();
  end_at_once(run);
  return world;
}

int code_of_run(bool stopped, bool committed) {
  if (!stopped) return static_cast<int>(ExitCode::done);
  return committed ? kRequeue : code_without_commit(SIGTERM);
}

void tell(const train::Outlook& outlook, Group& world) {
  if (world.rank() == 0) answer(outlook.text);
  require(outlook.lack.empty(), "{}", outlook.lack);
}

bool looked_ahead(const train::PretrainConfig& config, train::Task& task, Group& world,
                  const std::optional<checkpoint::CheckpointInfo>& start) {
  if (!config.run.dry_run) return false;
  tell(train::look_ahead(config, task, world, start), world);
  return true;
}

using ConfigValues = std::map<std::string, std::string>;

namespace {

ConfigValues given_model(const Options& options) {
  ConfigValues given;
  for (const auto& [key, value] : options.values())
    if (is_of_model(key) && options.given(key)) given[key] = value;
  return given;
}

// Of its own checkpoint, if there is one.
std::optional<train::TrainedModel> own_model(const train::PretrainConfig& c, Group& world) {
  if (c.run.dir.empty()) return std::nullopt;
  const WatchedPhase here("opening the model");
  const auto watchdog = root_watchdog(world, c.parallel.timeout, 0);
  const auto own = find_own_checkpoint(c.run, world);
  return own ? std::optional(train::trained_model(*own, world)) : std::nullopt;
}

AdaptedRun start_of(const train::PretrainConfig& c, Group& world) {
  auto claim = train::RunFolder::claim(c.run, c.parallel.timeout, world);
  // Who looks ahead claims nothing, and goes on from it all the same.
  if (auto own = own_model(c, world)) return {{}, std::move(*own), true, std::move(claim)};
  require(!c.checkpoint.load.empty(),
          "checkpoint.load names no pretrained model to begin from; give the folder of its run");
  return {
      {},
      train::open_trained_model(c.checkpoint.load, c.parallel.timeout, world, "checkpoint.load"),
      false,
      std::move(claim)};
}

void take_model(train::PretrainConfig& c, const ModelConfig& stored, const ConfigValues& given) {
  const ModelConfig own = c.model;
  c.model = stored;
  c.model.take_dropout(own);
  Options options("", "");
  bind(options, c.model);
  std::vector<std::string> keys{"attention.mark_first", "attention.mark_every",
                                "attention.mark_token", "attention.mark_until"};
  for (const auto& [key, value] : given)
    if (option_of(key) == OptionOf::start) keys.push_back(key);
  if (stored.architecture->reads() == Reads::pictures)
    for (const char* key : {"model.image_height", "model.image_width"}) keys.emplace_back(key);
  for (const Architecture* one : architectures())
    for (std::string& key : one->options_of_heads()) keys.push_back(std::move(key));
  for (const std::string& key : keys)
    if (given.contains(key)) options.set(key, given.at(key), "");
}

void check_known(const train::PretrainConfig& c, int ranks) {
  require(!c.parallel.cuda_graph, "parallel.cuda_graph records pretraining only; leave it out");
  train::PretrainConfig known = c;
  if (known.validation.every == -1) known.validation.every = 0;  // the data will say
  check_start(known, ranks);
}

}  // namespace

AdaptedRun begin_adapted(Options& options, train::PretrainConfig& c, std::unique_ptr<Group>& world,
                         bool stores) {
  world = begin_run(c.run.dir);
  c.train.micro_batch_open = !options.given("train.micro_batch");
  if (c.train.micro_batch_open)
    fit_micro_batch(options, c.parallel, c.train.global_batch, c.train.micro_batch, *world);
  check_known(c, world->size());
  AdaptedRun run = start_of(c, *world);
  run.given = given_model(options);
  take_model(c, run.source.model, run.given);
  const Reads reads = run.source.model.architecture->reads();
  if (!stores || (reads != Reads::pictures && reads != Reads::graphs))
    require_tokenizer(run.source);
  return run;
}

void settle_run(Options& options, const train::PretrainConfig& c, const AdaptedRun& run) {
  const ConfigValues final = config_values(c);
  for (const auto& [key, value] : options.values()) {
    const auto settled = final.find(key);
    if (settled == final.end() || settled->second == value) continue;
    const bool of_model = is_of_model(key);
    require(!of_model || !run.given.contains(key),
            "{}={} was given, but the model of {} with the head of this task has {}; leave it out",
            key, value, run.source.info.path, settled->second);
    if (key != "train.precision")
      options.set(key, settled->second, of_model ? run.source.info.path : "the data");
  }
}

}  // namespace skein::cli
