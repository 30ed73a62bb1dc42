#include "skein/train/run_folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/files.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/formats/chrome_trace.h"

namespace skein {
namespace {

std::string lines_up_to(const std::string& path, int64_t step) {
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.value("step", step + 1) <= step) kept += line + "\n";
  }
  return kept;
}

int64_t steps_in(const std::vector<ProfileEvent>& events) {
  return std::count_if(events.begin(), events.end(), [](const ProfileEvent& e) { return e.name == std::string_view("step"); });
}

}  // namespace

void RunFolder::begin(const std::string& config, int64_t step, Group& world) {
  if (!writes()) return;
  agree(world, [&] {
    if (world.rank() > 0) return;
    try {
      make_directories(path_);
      replace_file(path_ + "/config.ini", config);
      const std::string path = path_ + "/metrics.jsonl";
      replace_file(path, lines_up_to(path, step));
      metrics_.open(path, std::ios::app);
      if (tensorboard_) events_ = std::make_unique<EventWriter>(path_ + "/tensorboard");
    } catch (const Error& error) {
      fail_usage("run.dir={} cannot be written: {}; choose another folder", path_, error.what());
    }
  });
}

void RunFolder::write_profile(const std::vector<ProfileEvent>& events, int64_t origin, Group& world) {
  const auto parts = world.all_gather(chrome_trace_events(events, world.rank(), origin));
  if (!writes() || world.rank() > 0) return;
  try {
    replace_file(path_ + "/profile.json", chrome_trace(parts));
    log::info("profile of {} steps in {}/profile.json; open it in ui.perfetto.dev", steps_in(events), path_);
  } catch (const Error& error) {
    log::warn("no profile: {}", error.what());
  }
}

void RunFolder::record(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  if (!metrics_.is_open()) return;
  nlohmann::ordered_json line{{"step", step}};
  for (const auto& [name, value] : values) {
    if (value == std::floor(value) && std::abs(value) < 1e15) line[name] = static_cast<int64_t>(value);
    else line[name] = value;
    if (events_) events_->scalar(name, step, value);
  }
  metrics_ << line.dump() << std::endl;
  if (metrics_) return;
  log::warn("{}/metrics.jsonl cannot be written any more; the run goes on without it", path_);
  metrics_.close();
}

}  // namespace skein
