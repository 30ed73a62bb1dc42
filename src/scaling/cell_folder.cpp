#include "cell_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "skein/core/error.h"
#include "skein/train/run_state.h"

namespace skein {
namespace {

using Json = nlohmann::json;

double number_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : kUnknown;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

[[noreturn]] void damaged(const std::string& path) { fail_usage("{} is damaged; remove it, and its cell is run again", path); }

Json read_json(const std::string& path) {
  const Json json = Json::parse(read_text(path), nullptr, false);
  if (!json.is_object()) damaged(path);
  return json;
}

template <class Use>
void each_line(const std::string& path, const Use& use) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object()) use(json);
  }
}

bool of_a_step(const Json& line) { return line.contains("grad_norm"); }

}  // namespace

FileLock::FileLock(const std::string& path) : path_(path), file_(path, O_RDWR | O_CREAT | O_CLOEXEC) {}

bool FileLock::lock(bool wait) {
  int result = 0;
  do result = flock(file_.get(), LOCK_EX | (wait ? 0 : LOCK_NB));
  while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EWOULDBLOCK) fail("{} cannot be locked: {}; a sweep's folder needs a file system with flock", path_, std::strerror(errno));
  return result == 0;
}

std::unique_ptr<FileLock> FileLock::wait(const std::string& path) {
  std::unique_ptr<FileLock> made(new FileLock(path));
  made->lock(true);
  return made;
}

std::unique_ptr<FileLock> FileLock::attempt(const std::string& path) {
  std::unique_ptr<FileLock> made(new FileLock(path));
  return made->lock(false) ? std::move(made) : nullptr;
}

std::unique_ptr<FileLock> CellFolder::claim() const {
  make_directories(path_);
  return FileLock::attempt(at("claim"));
}

bool CellFolder::finished() const {
  std::error_code ignored;
  return std::filesystem::exists(at("result.json"), ignored);
}

CellOutcome CellFolder::outcome() const {
  if (!finished()) return {};
  const std::string path = at("result.json");
  const Json json = read_json(path);
  try {
    CellOutcome made{json.at("status"), json.at("reason"), number_in(json, "loss"), number_in(json, "train_loss"), number_in(json, "seconds"), {}};
    for (const Json& point : json.at("curve")) made.curve.push_back({number_in(point, "tokens"), number_in(point, "loss")});
    return made;
  } catch (const Json::exception&) {
    damaged(path);
  }
}

void CellFolder::finish(const CellOutcome& outcome) const {
  nlohmann::ordered_json json{{"status", outcome.status}, {"reason", outcome.reason}, {"loss", number(outcome.loss)},
                              {"train_loss", number(outcome.train_loss)}, {"seconds", number(outcome.seconds)}, {"curve", Json::array()}};
  for (const CurvePoint& point : outcome.curve) json["curve"].push_back({{"tokens", point.tokens}, {"loss", number(point.loss)}});
  replace_file(at("result.json"), json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void CellFolder::forget_result() const {
  std::error_code ignored;
  std::filesystem::remove(at("result.json"), ignored);
}

bool CellFolder::ended_without_gradient() const {
  bool skipped = false;
  each_line(at("metrics.jsonl"), [&](const Json& line) {
    if (of_a_step(line)) skipped = line.contains("skipped");
  });
  return skipped;
}

CellOutcome CellFolder::measured(int64_t batch_tokens) const {
  CellOutcome made;
  std::vector<double> losses;
  made.seconds = 0;
  each_line(at("metrics.jsonl"), [&](const Json& line) {
    if (of_a_step(line)) {
      losses.push_back(number_in(line, "loss"));
      made.seconds += number_in(line, "seconds");
    }
    const double held_out = number_in(line, "validation_loss");
    if (std::isfinite(held_out)) made.curve.push_back({number_in(line, "step") * static_cast<double>(batch_tokens), held_out});
  });
  const size_t count = (losses.size() + 19) / 20;
  if (count == 0) return made;
  double sum = 0;
  for (size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
  made.train_loss = sum / static_cast<double>(count);
  return made;
}

void CellFolder::begin(const Settings& settings) const {
  make_directories(path_);
  if (std::filesystem::exists(at("settings.json"))) check(settings);
  else replace_file(at("settings.json"), Json(settings).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void CellFolder::check(const Settings& settings) const {
  std::error_code ignored;
  if (!std::filesystem::exists(at("settings.json"), ignored)) return;
  const Json before = read_json(at("settings.json"));
  for (const auto& [key, value] : settings) {
    const auto found = before.find(key);
    const std::string old = found != before.end() && found->is_string() ? found->get<std::string>() : value;
    require(old == value, "{} was begun with {}={}, now it is {}: another result; give the same, or another run.dir, or remove that cell's folder",
            path_, key, old, value);
  }
}

void CellFolder::remove_checkpoints() const { remove_tree(at("checkpoints")); }

Settings settings_of(const PretrainConfig& run) {
  Settings made = config_values(run);
  std::erase_if(made, [](const auto& entry) {
    const std::string& key = entry.first;
    if (key == "parallel.reduction_groups") return false;
    return key.starts_with("run.") || key.starts_with("parallel.") || key.starts_with("checkpoint.");
  });
  return made;
}

}  // namespace skein
