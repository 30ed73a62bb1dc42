#include "cell_folder.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <sys/file.h>

#include "skein/checkpoint/checkpoint.h"
#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/train/run_state.h"

namespace skein::scaling::sweep {
namespace {

using Json = nlohmann::json;

constexpr const char* kSetAside = "refused-checkpoints";

double number_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : kUnknown;
}

[[noreturn]] void damaged(const std::string& path) {
  fail_usage("{} is damaged; remove the folder it is in, and that cell is run again", path);
}

Json read_json(const std::string& path) {
  const Json json = Json::parse(read_text(path), nullptr, false);
  if (!json.is_object()) damaged(path);
  return json;
}

// Something that is not a file counts as no lines here; the run itself refuses it. What cannot be
// read is an error.
std::string text_of(const std::string& path) {
  std::string text;
  refusal_of([&] { text = text_if_there(path).value_or(""); });
  return text;
}

template <class Use>
void each_line(const std::string& path, const Use& use) {
  std::istringstream text(text_of(path));
  for (std::string line; std::getline(text, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object()) use(json);
  }
}

bool of_a_step(const Json& line) { return line.contains("grad_norm"); }

bool is_whole(const CellOutcome& outcome) {
  return outcome.status == "done" ? std::isfinite(outcome.loss)
                                  : outcome.status == "diverged" || outcome.status == "failed";
}

CellOutcome read_outcome(const std::string& path) {
  const Json json = read_json(path);
  try {
    CellOutcome made{json.at("status"),          json.at("reason"),
                     number_in(json, "loss"),    number_in(json, "train_loss"),
                     number_in(json, "seconds"), {}};
    for (const Json& point : json.at("curve"))
      made.curve.push_back({number_in(point, "tokens"), number_in(point, "loss")});
    if (is_whole(made)) return made;
  } catch (const Json::exception&) {
  }
  damaged(path);
}

// A run that was ended right before its result was written judges its last step once more.
void add_evaluation(double tokens, double loss, double& last, CellOutcome& to) {
  if (tokens == last) return;
  last = tokens;
  ++to.evaluations;
  if (std::isfinite(loss)) to.curve.push_back({tokens, loss});
}

FileLock locked(const std::string& path, int how) {
  auto file = std::make_unique<const FileDescriptor>(path, O_RDWR | O_CREAT | O_CLOEXEC);
  int result = 0;
  do result = flock(file->get(), how);
  while (result != 0 && errno == EINTR);
  if (result == 0) return file;
  if (errno != EWOULDBLOCK)
    fail("{} cannot be locked: {}; a sweep's folder needs a file system with flock", path,
         std::strerror(errno));
  return nullptr;
}

// For reading; null for what is not finite.
void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  replace_file(path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace

FileLock wait_for_lock(const std::string& path) { return locked(path, LOCK_EX); }
FileLock share_lock(const std::string& path) { return locked(path, LOCK_SH); }
FileLock attempt_lock(const std::string& path) { return locked(path, LOCK_EX | LOCK_NB); }

FileLock CellFolder::claim() const {
  make_directories(path_);
  return attempt_lock(at("claim"));
}

bool CellFolder::has(const char* name) const { return is_there(at(name)); }

bool CellFolder::finished() const { return has("result.json"); }

CellOutcome CellFolder::outcome() const {
  if (finished()) return read_outcome(at("result.json"));
  CellOutcome made;
  if (has("failed.json"))
    made.reason = "it failed before: " + read_outcome(at("failed.json")).reason;
  return made;
}

void CellFolder::finish(const CellOutcome& outcome) const {
  nlohmann::ordered_json curve = nlohmann::ordered_json::array();
  for (const CurvePoint& point : outcome.curve)
    curve.push_back({{"tokens", point.tokens}, {"loss", point.loss}});
  write_json(at("result.json"), {{"status", outcome.status},
                                 {"reason", outcome.reason},
                                 {"loss", outcome.loss},
                                 {"train_loss", outcome.train_loss},
                                 {"seconds", outcome.seconds},
                                 {"curve", curve}});
  sync_directory(path_);
  std::error_code ignored;
  std::filesystem::remove(at("failed.json"), ignored);
}

void CellFolder::retry() const {
  if (outcome().status != "failed") return;
  if (const auto held = claim(); held && outcome().status == "failed")
    rename_path(at("result.json"), at("failed.json"));
}

bool CellFolder::failed_before() const {
  return !finished() && (has("failed.json") || deaths() > 1);
}

int64_t CellFolder::checkpoint_step() const {
  const auto kept = checkpoint::list_checkpoints(checkpoints());
  return kept.empty() ? -1 : kept.front().step;
}

// How often in a row its process ended without a word (memory ran out, a node was lost) and without
// a checkpoint in between.
int64_t CellFolder::deaths() const {
  if (!has("begun.json")) return 0;
  const Json begun = Json::parse(read_text(at("begun.json")), nullptr, false);
  if (!begun.is_object() || number_in(begun, "checkpoint") != checkpoint_step()) return 1;
  const double before = number_in(begun, "deaths");
  return before > 0 ? static_cast<int64_t>(std::min(before, 1e6)) + 1 : 1;
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
  double last = -1;
  each_line(at("metrics.jsonl"), [&](const Json& line) {
    if (of_a_step(line)) {
      losses.push_back(number_in(line, "loss"));
      made.seconds += number_in(line, "seconds");
    }
    if (line.contains("validation_loss"))
      add_evaluation(number_in(line, "step") * batch_tokens, number_in(line, "validation_loss"),
                     last, made);
  });
  const size_t count = (losses.size() + 19) / 20;
  if (count == 0) return made;
  double sum = 0;
  for (size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
  made.train_loss = sum / count;
  return made;
}

void CellFolder::begin(const Settings& settings) const {
  make_directories(path_);
  if (has("settings.json"))
    check(settings);
  else
    write_json(at("settings.json"), settings);
  replace_file(at("begun.json"),
               Json{{"deaths", deaths()}, {"checkpoint", checkpoint_step()}}.dump() + "\n");
}

void CellFolder::end() const {
  std::error_code ignored;
  std::filesystem::remove(at("begun.json"), ignored);
}

void CellFolder::check(const Settings& settings) const {
  if (!has("settings.json")) return;
  const Json before = read_json(at("settings.json"));
  for (const auto& [key, value] : settings) {
    const auto found = before.find(key);
    const std::string old =
        found != before.end() && found->is_string() ? found->get<std::string>() : value;
    require(old == value,
            "{} was begun with {}={}, now it is {}: another result; give the same, or another "
            "run.dir, or remove that cell's folder",
            path_, key, old, value);
  }
}

void CellFolder::set_aside_checkpoints() const {
  remove_tree(at(kSetAside));
  rename_path(checkpoints(), at(kSetAside));
}

void CellFolder::remove_checkpoints() const {
  remove_tree(checkpoints());
  remove_tree(at(kSetAside));
}

Settings settings_of(const train::PretrainConfig& run) {
  Settings made = config_values(run);
  std::erase_if(made, [](const auto& entry) {
    const std::string& key = entry.first;
    if (key == "parallel.reduction_groups") return false;
    return key.starts_with("run.") || key.starts_with("parallel.") ||
           key.starts_with("checkpoint.");
  });
  return made;
}

}  // namespace skein::scaling::sweep
