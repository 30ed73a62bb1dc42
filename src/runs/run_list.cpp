#include "skein/runs/run_list.h"

#include <algorithm>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"

namespace skein::runs {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLogEndBytes = 1 << 14;
constexpr int kLastLines = 8;
// Of a run's own folder; no run lies in them.
const std::set<std::string> kParts = {"checkpoints", "tensorboard", "best", "ema", "standstill"};

// The numbers of a line that are not known yet.
void take(RunGlance& glance, const nlohmann::ordered_json& line) {
  glance.step = std::max(glance.step, line["step"].get<int64_t>());
  for (const auto& [name, value] : line.items()) {
    if (name == "step" || !(value.is_number() || value.is_null())) continue;
    const bool known = std::ranges::any_of(
        glance.last, [&, &name = name](const auto& one) { return one.first == name; });
    if (!known)
      glance.last.emplace_back(
          name, value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
}

void look_at_end(const FileDescriptor& file, int64_t size, RunGlance& glance) {
  std::string end(std::min(size, kLogEndBytes), '\0');
  end.resize(file.read_at(std::as_writable_bytes(std::span(end)), size - end.size()));
  std::string_view rest = end;
  rest = rest.substr(0, rest.find_last_of('\n') + 1);
  for (int i = 0; i < kLastLines && !rest.empty(); ++i) {
    rest.remove_suffix(1);
    const size_t from = rest.find_last_of('\n') + 1;
    const auto line = nlohmann::ordered_json::parse(std::string(rest.substr(from)), nullptr, false);
    if (line.is_object() && line.contains("step") && line["step"].is_number_integer())
      take(glance, line);
    rest = rest.substr(0, from);
  }
}

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_ino == other.st_ino && one.st_size == other.st_size &&
         one.st_mtim.tv_sec == other.st_mtim.tv_sec && one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

}  // namespace

RunList::RunList(std::string folder) : folder_(std::move(folder)) {
  require(is_folder(folder_), "{} is no folder; give the folder that runs lie in", folder_);
}

void RunList::add(const std::string& folder) {
  const std::string path = join_path(folder, "metrics.jsonl");
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  auto& [known, glance] = seen_[folder];
  if (!same_file(known, status)) {
    glance = {.name = fs::path(folder).lexically_relative(folder_).string(),
              .folder = folder,
              .changed = static_cast<double>(status.st_mtim.tv_sec)};
    try {
      look_at_end({path, O_RDONLY | O_NONBLOCK | O_CLOEXEC}, status.st_size, glance);
      known = status;
    } catch (const Error&) {
      // The run has taken it away meanwhile, or it may not be read: it is told when it is chosen.
    }
  }
  runs_.push_back(glance);
}

const std::vector<RunGlance>& RunList::look() {
  runs_.clear();
  cut_ = false;
  std::deque<std::pair<std::string, int>> folders{{folder_, 0}};
  for (size_t count = 0; !folders.empty(); ++count) {
    cut_ = count == 10 * kMostRuns || runs_.size() == kMostRuns;
    if (cut_) break;
    const auto [folder, depth] = folders.front();
    folders.pop_front();
    add(folder);
    std::error_code error;
    for (auto at = fs::directory_iterator(folder, error); !error && at != fs::end(at);
         at.increment(error)) {
      std::error_code ignored;
      if (depth < kDeepest && at->symlink_status(ignored).type() == fs::file_type::directory &&
          !kParts.contains(at->path().filename().string()))
        folders.emplace_back(at->path().string(), depth + 1);
    }
  }
  std::ranges::sort(runs_, [](const RunGlance& one, const RunGlance& other) {
    return std::pair(-one.changed, one.name) < std::pair(-other.changed, other.name);
  });
  return runs_;
}

const RunGlance* RunList::find(const std::string& name) const {
  const auto found = std::ranges::find(runs_, name, &RunGlance::name);
  return found == runs_.end() ? nullptr : &*found;
}

}  // namespace skein::runs
