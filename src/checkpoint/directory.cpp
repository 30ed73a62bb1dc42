#include "skein/checkpoint/directory.h"

#include "skein/checkpoint/files.h"
#include "skein/checkpoint/retry.h"
#include "skein/core/error.h"
#include "skein/core/excerpt.h"
#include "skein/core/log.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace skein {
namespace {

constexpr char kTemporary[] = "tmp-", kTrash[] = "trash-", kGeneration[] = "generation-";

// Digits only: no sign, no space, nothing behind them.
std::optional<int64_t> number(std::string_view text, size_t digits) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.size() < digits || value < 0)
    return {};
  return value;
}

std::string generation_name(int64_t generation) { return fmt::format("{}{:06}", kGeneration, generation); }

std::optional<int64_t> generation_of(const std::string& name) {
  if (!name.starts_with(kGeneration)) return {};
  return number(std::string_view(name).substr(sizeof(kGeneration) - 1), 6);
}

std::vector<std::string> listed(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(directory, error), end;
  for (; !error && entry != end; entry.increment(error)) names.push_back(entry->path().filename().string());
  if (error) fail_system(error.value(), "cannot list the checkpoint directory {}", directory);
  std::sort(names.begin(), names.end());
  return names;
}

// Checkpoints may be behind a link whose storage is not mounted at the moment.
void require_no_link(const std::string& missing) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(missing, ignored)))
    fail("{} is a symbolic link to nothing; mount or make what it leads to, or remove it", missing);
}

std::vector<std::string> names_in(const std::string& directory) {
  if (!is_there(directory)) {
    require_no_link(directory);
    return {};
  }
  require(is_folder(directory), "{} is not a directory; checkpoints are kept in one", directory);
  return retried([&] { return listed(directory); });
}

// A generation and the newest checkpoint when it started.
struct Fence {
  int64_t generation = 0;
  CheckpointName base;
};

// A file that a crash left empty fences nothing: it does not say what there was before it. One that
// cannot be read may fence all, so that is an error.
std::optional<Fence> read_fence(const std::string& directory, int64_t generation) {
  try {
    const auto json = nlohmann::json::parse(
        retried([&] { return read_text(join_path(directory, generation_name(generation))); }));
    const auto base = json.at("base").get<std::string>();
    if (base.empty()) return Fence{generation, {}};
    if (const auto name = CheckpointName::parse(base)) return Fence{generation, *name};
  } catch (const SystemError&) {
    throw;
  } catch (const std::exception& error) {
    log::warn("{} in {} is damaged and ignored: {}", generation_name(generation), directory,
              json_fault(error.what()));
  }
  return {};
}

bool fenced(const CheckpointName& name, const std::vector<Fence>& fences) {
  return std::any_of(fences.begin(), fences.end(), [&](const Fence& fence) {
    return name.generation < fence.generation && name > fence.base;
  });
}

// Leftovers name their generation after ".g"; a newer generation's own are none of ours.
bool is_leftover(const std::string& name, int64_t generation) {
  if (name.starts_with(kTrash)) return true;
  if (!name.starts_with(kTemporary)) return false;
  const size_t mark = name.find(".g");
  if (mark == std::string::npos) return false;
  const std::string rest = name.substr(mark + 2);
  const auto owner = number(std::string_view(rest).substr(0, rest.find('.')), 6);
  return owner.has_value() && *owner < generation;
}

void clear_leftovers(const std::string& directory, int64_t generation) {
  for (const std::string& name : names_in(directory))
    if (is_leftover(name, generation) && !remove_tree(join_path(directory, name)))
      log::warn("cannot remove {}, left over from an earlier start", join_path(directory, name));
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

std::string generation_text(int64_t generation, int ranks, const std::string& base) {
  const char* job = std::getenv("SLURM_JOB_ID");
  return nlohmann::json{{"generation", generation}, {"base", base},
                        {"ranks", ranks},           {"host", host_name()},
                        {"process", ::getpid()},    {"job", job == nullptr ? "" : job},
                        {"created", utc_now()}}
             .dump(1) +
         "\n";
}

int64_t take_generation(const std::string& directory, int ranks) {
  for (;;) {
    const int64_t generation = latest_generation(directory) + 1;
    const auto committed = committed_checkpoints(directory);
    const std::string base = committed.empty() ? "" : committed.front().text();
    if (!write_exclusive(join_path(directory, generation_name(generation)),
                         generation_text(generation, ranks, base)))
      continue;
    sync_directory(directory);
    return generation;
  }
}

}  // namespace

std::string CheckpointName::text() const { return fmt::format("step-{:08}.g{:06}", step, generation); }

std::optional<CheckpointName> CheckpointName::parse(const std::string& text) {
  constexpr std::string_view kStep = "step-";
  const size_t mark = text.find(".g");
  if (!text.starts_with(kStep) || mark == std::string::npos) return {};
  const auto step = number(std::string_view(text).substr(kStep.size(), mark - kStep.size()), 8);
  const auto generation = number(std::string_view(text).substr(mark + 2), 6);
  if (!step || !generation) return {};
  const CheckpointName name{*generation, *step};
  return name.text() == text ? std::optional(name) : std::nullopt;
}

std::string checkpoint_folder(const std::string& path) {
  const std::string inner = join_path(path, "checkpoints");
  return is_folder(inner) ? inner : path;
}

std::vector<CheckpointName> all_checkpoints(const std::string& directory) {
  std::vector<CheckpointName> all;
  for (const std::string& entry : names_in(directory))
    if (const auto name = CheckpointName::parse(entry))
      if (is_folder(join_path(directory, entry))) all.push_back(*name);
  std::sort(all.rbegin(), all.rend());
  return all;
}

std::vector<CheckpointName> committed_checkpoints(const std::string& directory) {
  auto committed = all_checkpoints(directory);
  std::vector<Fence> fences;
  for (const std::string& entry : names_in(directory))
    if (const auto generation = generation_of(entry))
      if (const auto fence = read_fence(directory, *generation)) fences.push_back(*fence);
  std::erase_if(committed, [&](const CheckpointName& name) { return fenced(name, fences); });
  return committed;
}

int64_t latest_generation(const std::string& directory) {
  int64_t latest = 0;
  for (const std::string& entry : names_in(directory)) {
    if (const auto generation = generation_of(entry)) latest = std::max(latest, *generation);
    if (const auto name = CheckpointName::parse(entry)) latest = std::max(latest, name->generation);
  }
  return latest;
}

int64_t start_generation(const std::string& directory, int ranks) {
  try {
    make_directories(directory);
    const int64_t generation = take_generation(directory, ranks);
    clear_leftovers(directory, generation);
    return generation;
  } catch (const SystemError& error) {
    fail("the checkpoint directory {} cannot be used: {}", directory, with_advice(error));
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    fail_usage(
        "the checkpoint directory {} cannot be used: {}; name one that this user may write, on a file "
        "system that every rank sees",
        directory, error.what());
  }
}

std::string make_temporary(const std::string& directory, const CheckpointName& name) {
  for (int attempt = 0;; ++attempt) {
    const std::string path = join_path(directory, fmt::format("{}{}.{}", kTemporary, name.text(), attempt));
    if (make_new_directory(path)) return path;
  }
}

void publish(const std::string& temporary, const std::string& directory, const CheckpointName& name) {
  const std::string final_path = join_path(directory, name.text());
  sync_directory(temporary);
  const int64_t latest = latest_generation(directory);
  if (latest > name.generation)
    fail(
        "generation {} of this run has started in {} and this process is of generation {}: it is left over "
        "from "
        "an earlier start, may not commit any more and should stop",
        latest, directory, name.generation);
  rename_path(temporary, final_path);
  try {
    sync_directory(directory);
  } catch (...) {
    // Whether the name would survive a power loss is unknown, so nobody may build on it.
    ::rename(final_path.c_str(), temporary.c_str());
    throw;
  }
}

std::vector<CheckpointName> expired_checkpoints(const std::string& directory, int keep) {
  auto committed = committed_checkpoints(directory);
  const auto kept = std::min(committed.size(), static_cast<size_t>(std::max(keep, 1)));
  committed.erase(committed.begin(), committed.begin() + static_cast<std::ptrdiff_t>(kept));
  return committed;
}

void remove_checkpoint(const std::string& directory, const CheckpointName& name) {
  const std::string trash = join_path(directory, kTrash + name.text());
  remove_tree(trash);
  rename_path(join_path(directory, name.text()), trash);
  sync_directory(directory);
  if (!remove_tree(trash)) fail("cannot remove {}", trash);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace skein
