#include "skein/checkpoint/directory.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/files/output_target.h"
#include "skein/core/files/retry.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"

namespace skein::checkpoint {
namespace {

constexpr int64_t kMost = 1'000'000'000'000;  // more than any run counts, generations or steps
constexpr char kTemporary[] = "tmp-", kTrash[] = "trash-", kGeneration[] = "generation-";

// Digits only: no sign, no space, nothing behind them. A larger number than any of ours is none of
// ours.
std::optional<int64_t> number(std::string_view text, size_t digits) {
  const auto value = parsed_number<int64_t>(text);
  return value && text.size() >= digits && *value >= 0 && *value <= kMost ? value : std::nullopt;
}

std::optional<int64_t> generation_of(const std::string& name) {
  if (!name.starts_with(kGeneration)) return {};
  return number(std::string_view(name).substr(sizeof(kGeneration) - 1), 6);
}

std::vector<std::string> listed(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(directory, error), end;
  for (; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) fail_system(error.value(), "cannot list the checkpoint directory {}", directory);
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> names_in(const std::string& directory) {
  if (!is_there(directory)) {
    require_no_dangling_link(directory);
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
  const auto read = read_generation(directory, generation);
  if (!read) return {};
  return Fence{generation, CheckpointName::parse(read->base).value_or(CheckpointName{})};
}

bool fenced(const CheckpointName& name, const std::vector<Fence>& fences) {
  return std::ranges::any_of(fences, [&](const Fence& fence) {
    return name.generation < fence.generation && name > fence.base;
  });
}

// Leftovers name their generation after ".g", or first; a newer generation's own are none of ours.
bool is_leftover(const std::string& name, int64_t generation) {
  if (name.starts_with(kTrash)) return true;
  const bool beat = name.starts_with(kHeartbeat);
  if (!beat && !name.starts_with(kTemporary)) return false;
  const size_t mark = name.find(".g");
  if (!beat && mark == std::string::npos) return false;
  const std::string rest = name.substr(beat ? sizeof(kHeartbeat) - 1 : mark + 2);
  const auto owner = number(std::string_view(rest).substr(0, rest.find('.')), 6);
  return owner.has_value() && *owner < generation;
}

void clear_leftovers(const std::string& directory, int64_t generation) {
  for (const std::string& name : names_in(directory))
    if (is_leftover(name, generation) && !remove_tree(join_path(directory, name)))
      log::warn("cannot remove {}, left over from an earlier start", join_path(directory, name));
}

// Each start makes a file, and one that began where a later one began says nothing beside it. Nor
// does one that no commit is older than.
void drop_generations(const std::string& directory, int64_t latest) {
  int64_t oldest_commit = latest;
  for (const CheckpointName& name : all_checkpoints(directory))
    oldest_commit = std::min(oldest_commit, name.generation);
  std::string later_base = "none yet";
  auto numbers = generation_numbers(directory);
  std::sort(numbers.rbegin(), numbers.rend());
  for (const int64_t number : numbers) {
    const auto read = read_generation(directory, number);
    if (!read) continue;
    const bool needed = number > oldest_commit && read->base != later_base;
    if (number < latest && !needed) ::unlink(join_path(directory, generation_name(number)).c_str());
    later_base = read->base;
  }
}

// Exclusively and at once, so that nobody ever reads half of it. Where the file system knows no
// call for that, exclusively at least: what a crash leaves of it then tells nothing.
bool take_name(const std::string& fresh, const std::string& path, const std::string& text) {
  if (give_free_name(fresh, path)) return true;
  switch (const int error = errno) {
    case EEXIST: return false;
    case EPERM:
    case EOPNOTSUPP:
    case ENOSYS:
    case EINVAL: return write_exclusive(path, text);
    default: fail_system(error, "cannot give {} the name {}", fresh, path);
  }
}

int64_t take_generation(const std::string& directory, int ranks, const std::string& run) {
  for (;;) {
    const auto committed = committed_checkpoints(directory);
    const Generation mine{.number = next_generation(directory),
                          .run = run,
                          .base = committed.empty() ? "" : committed.front().text(),
                          .ranks = ranks,
                          .writer = own_identity()};
    if (write_generation(directory, mine)) return mine.number;
  }
}

}  // namespace

std::string generation_name(int64_t number) { return fmt::format("{}{:06}", kGeneration, number); }

std::string CheckpointName::text() const {
  return fmt::format("step-{:08}.g{:06}", step, generation);
}

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

int64_t next_generation(const std::string& directory) {
  const int64_t latest = latest_generation(directory);
  require(latest < kMost, "{} holds generation {}, and none can follow it; remove that file",
          directory, latest);
  return latest + 1;
}

std::string run_id_in(const std::string& directory) {
  auto numbers = generation_numbers(directory);
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number)
    if (const auto read = read_generation(directory, *number); read && !read->run.empty())
      return read->run;
  return "";
}

std::vector<int64_t> generation_numbers(const std::string& directory) {
  std::vector<int64_t> numbers;
  for (const std::string& entry : names_in(directory))
    if (const auto generation = generation_of(entry)) numbers.push_back(*generation);
  std::ranges::sort(numbers);
  return numbers;
}

std::optional<Generation> read_generation(const std::string& directory, int64_t number) {
  const std::string path = join_path(directory, generation_name(number));
  try {
    const auto text = text_if_there(path);
    if (!text) return {};
    Generation read = parse_generation(*text);
    read.number = number;
    return read;
  } catch (const SystemError&) {
    throw;
  } catch (const std::exception& error) {
    if (is_there(path)) log::warn("{} is damaged and ignored: {}", path, json_fault(error.what()));
  }
  return {};
}

std::string named_generation(const std::string& directory, int64_t number) {
  Generation known{.number = number};
  try {
    known = read_generation(directory, number).value_or(known);
  } catch (const SystemError& error) {
    log::warn("{}", error.what());
  }
  return named(known);
}

bool write_generation(const std::string& directory, const Generation& generation) {
  const std::string fresh = join_path(directory, fmt::format("{}generation.g{:06}.{}", kTemporary,
                                                             generation.number, unique_name()));
  const std::string text = generation_text(generation);
  write_new_file(fresh, text);
  bool taken = false;
  try {
    taken = take_name(fresh, join_path(directory, generation_name(generation.number)), text);
  } catch (...) {
    ::unlink(fresh.c_str());
    throw;
  }
  ::unlink(fresh.c_str());
  if (taken) sync_directory(directory);
  return taken;
}

void clear_older(const std::string& directory, int64_t generation) {
  clear_leftovers(directory, generation);
  drop_generations(directory, generation);
}

void refuse_superseded(const std::string& directory, int64_t generation) {
  const int64_t latest = latest_generation(directory);
  if (latest <= generation) return;
  throw Error(ExitCode::superseded,
              fmt::format("{} has started in {} and this process is of generation {}: it is left "
                          "over from an earlier start, commits no more and ends",
                          named_generation(directory, latest), directory, generation));
}

int64_t start_generation(const std::string& directory, int ranks, const std::string& run) {
  try {
    make_directories(directory);
    const int64_t generation = take_generation(directory, ranks, run);
    clear_older(directory, generation);
    return generation;
  } catch (const SystemError& error) {
    fail("the checkpoint directory {} cannot be used: {}", directory, with_advice(error));
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    fail_usage(
        "the checkpoint directory {} cannot be used: {}; name one that this user may write, on a "
        "file system that every rank sees",
        directory, error.what());
  }
}

std::string make_temporary(const std::string& directory, const CheckpointName& name) {
  for (int attempt = 0;; ++attempt) {
    const std::string path =
        join_path(directory, fmt::format("{}{}.{}", kTemporary, name.text(), attempt));
    if (make_new_directory(path)) return path;
  }
}

void publish(const std::string& temporary, const std::string& directory,
             const CheckpointName& name) {
  const std::string final_path = join_path(directory, name.text());
  sync_directory(temporary);
  refuse_superseded(directory, name.generation);
  rename_path(temporary, final_path);
  try {
    sync_directory(directory);
  } catch (...) {
    // Whether the name would survive a power loss is unknown, so nobody may build on it.
    ::rename(final_path.c_str(), temporary.c_str());
    throw;
  }
}

std::vector<CheckpointName> expired_checkpoints(const std::string& directory, int64_t keep) {
  auto committed = committed_checkpoints(directory);
  const int64_t kept = std::min(std::ssize(committed), std::max<int64_t>(keep, 1));
  committed.erase(committed.begin(), committed.begin() + kept);
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

}  // namespace skein::checkpoint
