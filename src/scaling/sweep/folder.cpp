#include "folder.h"

#include <filesystem>
#include <set>

#include "skein/core/log.h"
#include "skein/data/samples/loader.h"

#include "parts.h"

namespace skein::scaling::sweep {
namespace {

// A path says nothing of the tokens behind it, which may have been made anew between two starts.
void add_data(Settings& settings, const std::string& option,
              const std::vector<std::string>& entries, const data::DataConfig& config) {
  std::vector<int64_t> tokens;
  std::vector<uint64_t> sums;
  for (const auto& store : open_blend(entries, config).stores) {
    tokens.push_back(store->info().tokens);
    sums.push_back(store->fingerprint());
  }
  settings["tokens of " + option] = fmt::format("{}", fmt::join(tokens, " + "));
  settings["tokens of " + option + " (fingerprint)"] =
      fmt::format("{:016x}", fmt::join(sums, " + "));
}

}  // namespace

SweepFolder::SweepFolder(std::string path, const std::vector<SweepCell>& cells)
    : path_(std::move(path)), cells_(cells) {
  for (const SweepCell& cell : cells) folders_.emplace_back(path_ + "/cells/" + cell.name);
  const data::DataConfig& data = cells.front().run.data;
  add_data(data_, "data.train", data.train, data);
  add_data(data_, "data.validation", data.validation, data);
}

Settings SweepFolder::settings_of_cell(size_t index) const {
  Settings made = settings_of(cells_[index].run);
  made.insert(data_.begin(), data_.end());
  return made;
}

void SweepFolder::prepare(const std::string& resolved) const {
  make_directories(path_ + "/cells");
  for (size_t i = 0; i < cells_.size(); ++i) folders_[i].check(settings_of_cell(i));
  for (const CellFolder& folder : folders_) folder.retry();
  if (const FileLock lock = wait_for_lock(path_ + "/results.lock"); !resolved.empty())
    replace_file(path_ + "/config.ini", resolved);
  publish();
  tell_others();
}

void SweepFolder::tell_others() const {
  int64_t others = 0;
  std::set<std::string> own;
  for (const CellFolder& folder : folders_) own.insert(folder.path());
  for (const auto& entry : std::filesystem::directory_iterator(path_ + "/cells"))
    if (!own.contains(path_ + "/cells/" + entry.path().filename().string())) ++others;
  if (others > 0)
    log::warn(
        "{}/cells holds {} folders that are no cells of this design; they are left out of the "
        "results",
        path_, others);
}

std::vector<ScalingRun> SweepFolder::rows() const {
  std::vector<ScalingRun> made;
  for (size_t i = 0; i < cells_.size(); ++i)
    made.push_back(row_of(cells_[i], folders_[i].outcome(), i + 2));
  return made;
}

void SweepFolder::publish() const {
  const FileLock lock = wait_for_lock(path_ + "/results.lock");
  std::vector<Settings> settings;
  for (const SweepCell& cell : cells_) {
    settings.push_back(settings_of(cell.run));
    settings.back().insert(cell.rules.begin(), cell.rules.end());
  }
  const std::vector<ScalingRun> all = rows();
  replace_file(path_ + "/results.csv", table_csv(all));
  replace_file(path_ + "/curves.csv", curves_csv(all));
  write_store(path_ + "/results.h5", all, settings);
}

bool SweepFolder::leave() {
  present_.reset();
  return attempt_lock(path_ + "/jobs.lock") != nullptr;
}

}  // namespace skein::scaling::sweep
