#include "skein/train/run_folder.h"

#include <algorithm>
#include <string_view>

#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/formats/chrome_trace.h"
#include "skein/train/watch/number_kind.h"

namespace skein::train {
namespace {

// A step's own line, its evaluation, and some more.
constexpr size_t kLastLines = 8;

// Of what is no JSON of a step, such as a line that a crash cut, there is none.
bool is_up_to(std::string_view line, int64_t step) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto found = json.is_object() ? json.find("step") : json.end();
  return found != json.end() && found->is_number_integer() && *found <= step;
}

// A run may have hundreds of megabytes of them: they are kept in the bytes that were read.
std::string lines_up_to(const std::string& path, int64_t step) {
  std::string text = text_if_there(path).value_or("");
  if (!text.empty() && text.back() != '\n') text += '\n';
  auto kept = text.begin();
  for (auto line = text.begin(); line != text.end();) {
    const auto next = std::find(line, text.end(), '\n') + 1;
    if (is_up_to({line, next}, step)) kept = std::copy(line, next, kept);
    line = next;
  }
  text.erase(kept, text.end());
  return text;
}

std::vector<std::string> last_of(std::string_view lines) {
  std::vector<std::string> made;
  while (!lines.empty() && made.size() < kLastLines) {
    lines.remove_suffix(1);
    const size_t begin = lines.rfind('\n') + 1;
    made.emplace_back(lines.substr(begin));
    lines = lines.substr(0, begin);
  }
  return made;
}

}  // namespace

std::unique_ptr<checkpoint::RunClaim> RunFolder::claim(const RunConfig& run, double timeout,
                                                       Group& world) {
  constexpr int64_t kLongest = 1'000'000;
  if (run.dir.empty() || run.dry_run) return nullptr;
  require(run.takeover >= 0 && run.takeover <= kLongest, "run.takeover={} must be 0 to {} seconds",
          run.takeover, kLongest);
  const checkpoint::ClaimOptions options{.run = run.id,
                                         .takeover = std::chrono::seconds(run.takeover)};
  const WatchedPhase here("claiming run.dir");
  const auto longest = std::chrono::duration<double>(options.takeover + options.silence);
  const auto watchdog = root_watchdog(world, timeout, longest.count());
  return with_origin("run.dir=" + run.dir, [&] {
    return std::make_unique<checkpoint::RunClaim>(run.dir + "/checkpoints", options, world);
  });
}

void RunFolder::begin(const std::string& config, int64_t step, Group& world) {
  if (!writes()) return;
  checkpoint::agree(world, [&] {
    if (world.rank() > 0) return;
    try {
      open(config, step);
    } catch (const SystemError& error) {
      fail("run.dir={} cannot be used: {}", path_, with_advice(error));
    } catch (const Error& error) {
      if (error.code() != ExitCode::usage)
        fail("run.dir={} cannot be used: {}", path_, error.what());
      fail_usage("run.dir={} cannot be written: {}; choose another folder", path_, error.what());
    }
  });
}

void RunFolder::open(const std::string& config, int64_t step) {
  const std::string config_path = path_ + "/config.ini", metrics_path = path_ + "/metrics.jsonl";
  make_directories(path_);
  const std::string lines = lines_up_to(metrics_path, step);
  for (const std::string& path : {config_path, metrics_path}) remove_unfinished(path);
  replace_file(config_path, config);
  metrics_.begin(metrics_path, lines);
  last_lines_ = last_of(lines);
  log_ = std::make_unique<log::LogFile>(path_ + "/run.log");
  if (tensorboard_) begin_events(config, step);
  sync_directory(path_);
}

void RunFolder::begin_events(const std::string& config, int64_t step) {
  events_from_ = step + 1;
  std::string options = config;
  // Markdown shows lines that begin with four blanks as they are.
  for (size_t at = 0; at != std::string::npos && at < options.size();) {
    options.insert(at, "    ");
    at = options.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  events_of(false).text("options", step, options);
  if (is_folder(path_ + "/tensorboard/validation")) events_of(true);
  sync_directory(path_ + "/tensorboard");
}

// That of validation comes with the first evaluation.
formats::EventWriter& RunFolder::events_of(bool validation) {
  std::unique_ptr<formats::EventWriter>& events = events_[validation];
  if (events) return *events;
  const std::string folder = path_ + "/tensorboard/" + (validation ? "validation" : "train");
  events = std::make_unique<formats::EventWriter>(folder);
  events->session_start(events_from_);
  sync_directory(folder);
  return *events;
}

void RunFolder::cut(int64_t step, Group& world) {
  checkpoint::agree(world, [&] {
    if (!metrics_.is_open()) return;
    const std::string path = path_ + "/metrics.jsonl";
    metrics_.close();
    metrics_.begin(path, lines_up_to(path, step));
    last_lines_.clear();
    unwritten_.clear();
    events_from_ = step + 1;
    for (const auto& events : events_)
      if (events) events->session_start(events_from_);
  });
}

void RunFolder::write_profile(const std::vector<ProfileEvent>& events, int64_t origin,
                              const std::string& what, Group& world) {
  const auto parts = world.all_gather(formats::chrome_trace_events(events, world.rank(), origin));
  if (!writes() || world.rank() > 0) return;
  try {
    replace_file(path_ + "/profile.json", formats::chrome_trace(parts));
    log::info("profile of {} in {}/profile.json; open it in ui.perfetto.dev", what, path_);
  } catch (const Error& error) {
    log::warn("no profile: {}", error.what());
  }
}

void RunFolder::record(int64_t step, const NamedValues& values) {
  if (!metrics_.is_open()) return;
  nlohmann::ordered_json line{{"step", step}};
  for (const auto& [name, value] : values) line[name] = json_number(value);
  const std::string text = line.dump();
  if (std::ranges::find(last_lines_, text) != last_lines_.end()) return;
  for (const auto& [name, value] : values) record_event(step, name, value);
  unwritten_ += text + "\n";
  try {
    write_lines();
  } catch (const SystemError& error) {
    if (!std::exchange(told_unwritten_, true))
      log::warn("{}; the lines are kept, and written with those of a later step", error.what());
  }
}

void RunFolder::write_lines() {
  if (unwritten_.empty()) return;
  metrics_.add(unwritten_);
  unwritten_.clear();
  told_unwritten_ = false;
}

void RunFolder::record_event(int64_t step, const std::string& name, double value) {
  if (!tensorboard_) return;
  const std::string base = without_validation(name);
  const std::string tag = fmt::format("{}/{}", name_of(kind_of_number(base).group), base);
  try {
    events_of(of_validation(name)).scalar(tag, step, value);
  } catch (const Error& error) {
    log::warn("{}; no more TensorBoard events are written", error.what());
    tensorboard_ = false;
  }
}

void RunFolder::sync(const checkpoint::RunClaim* claim) {
  if (!metrics_.is_open()) return;
  write_lines();
  try {
    metrics_.sync(claim);
    for (const auto& events : events_)
      if (events) sync_file(events->path());
  } catch (const Error& error) {
    log::warn("{}; what was written since the last checkpoint may not outlive a loss of power",
              error.what());
  }
}

std::optional<checkpoint::CheckpointInfo> find_own_checkpoint(const RunConfig& run, Group& world) {
  const std::string folder = RunFolder(run.dir, false).checkpoints();
  std::optional<checkpoint::CheckpointInfo> found;
  const std::string fault = refusal_of([&] { found = checkpoint::find_checkpoint(folder, world); });
  require(fault.empty() || run.restart,
          "{}\nOr give --run.restart, and the run begins anew in run.dir={}: metrics.jsonl is "
          "emptied, and these checkpoints go once checkpoint.keep new ones are there.",
          fault, run.dir);
  if (!fault.empty()) log::warn("run.restart: the run begins anew, for {}", fault);
  return found;
}

std::optional<checkpoint::CheckpointInfo> find_own_checkpoint_of(int64_t every,
                                                                 const RunConfig& run,
                                                                 Group& world) {
  const std::string paths = checkpoint::from_root(world, [&] {
    std::string lines;
    for (const auto& info : checkpoint::list_checkpoints(RunFolder(run.dir, false).checkpoints()))
      if (info.step % every == 0) lines += info.path + "\n";
    return lines;
  });
  for (size_t at = 0, end = 0; at < paths.size(); at = end + 1) {
    end = paths.find('\n', at);
    std::optional<checkpoint::CheckpointInfo> found;
    const std::string fault =
        refusal_of([&] { found = checkpoint::find_checkpoint(paths.substr(at, end - at), world); });
    if (found) return found;
    log::warn("{}", fault);
  }
  return {};
}

}  // namespace skein::train
