#include "folder.h"

#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "skein/core/log.h"

#include "parts.h"

namespace skein::scaling::sweep {
namespace {

// A path says nothing of the samples behind it, which may have been made anew between two starts.
Settings data_settings(const std::vector<data::DataFile>& files) {
  std::map<std::string, std::pair<std::vector<int64_t>, std::vector<uint64_t>>> known;
  for (const data::DataFile& file : files) {
    known[file.option].first.push_back(file.bytes);
    known[file.option].second.push_back(file.sum);
  }
  Settings made;
  for (const auto& [option, of] : known) {
    made["bytes of " + option] = fmt::format("{}", fmt::join(of.first, " + "));
    made["bytes of " + option + " (fingerprint)"] =
        fmt::format("{:016x}", fmt::join(of.second, " + "));
  }
  return made;
}

// Those of what the model reads, which are no part of a run's own.
Settings reading_settings(SweepConfig config) {
  Settings made = bound_values([&](Options& own) { bind_run(own, config.run, config); });
  const Settings runs = bound_values([&](Options& own) { bind(own, config.run); });
  std::erase_if(made, [&](const auto& entry) { return runs.contains(entry.first); });
  return made;
}

}  // namespace

SweepFolder::SweepFolder(const SweepConfig& config, const train::Task& task,
                         const std::vector<SweepCell>& cells)
    : path_(config.run.run.dir),
      cells_(cells),
      data_(data_settings(task.data_files())),
      reading_(reading_settings(config)) {
  for (const SweepCell& cell : cells) folders_.emplace_back(path_ + "/cells/" + cell.name);
}

Settings SweepFolder::settings_of_cell(size_t index) const {
  Settings made = settings_of(cells_[index].run);
  made.insert(reading_.begin(), reading_.end());
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
    settings.back().insert(reading_.begin(), reading_.end());
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
