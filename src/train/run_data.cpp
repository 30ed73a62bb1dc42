#include "skein/train/run_data.h"

#include <algorithm>
#include <utility>

#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein::train {
namespace {

constexpr auto kWorthTelling = std::chrono::seconds(1);
constexpr auto kRound = std::chrono::milliseconds(100);

std::string changed_files(const std::vector<data::DataFile>& before,
                          const std::vector<data::DataFile>& now) {
  std::string lines;
  for (const data::DataFile& file : now)
    for (const data::DataFile& old : before)
      if (old.option == file.option && old.path == file.path && !old.same_content(file))
        lines += fmt::format("\n  {}: {} was {}, now it is {}", file.option, file.path,
                             old.identity(), file.identity());
  return lines;
}

// Each file once, also where it is named twice.
std::vector<std::shared_ptr<const data::SummedFile>> stores_of(
    const std::vector<data::DataFile>& files) {
  std::vector<std::shared_ptr<const data::SummedFile>> stores;
  std::vector<std::string> paths;
  for (const data::DataFile& file : files) {
    if (!file.store || std::ranges::find(paths, file.path) != paths.end()) continue;
    paths.push_back(file.path);
    stores.push_back(file.store);
  }
  return stores;
}

}  // namespace

RunData::RunData(std::vector<data::DataFile> files, Group& world)
    : world_(world), files_(std::move(files)), unknown_(stores_of(files_)) {}

void RunData::go_on(const StoredData& stored) {
  const std::string changed = changed_files(stored.files, files_);
  require(changed.empty() || stored.others_accepted,
          "{} learnt from other data than lies under the same names now:{}\nPut the files back, or "
          "give checkpoint.other_data=true to go on with these.",
          stored.origin, changed);
  if (!changed.empty())
    log::warn(
        "{} learnt from other data, and the run goes on with what lies under the same names now "
        "(checkpoint.other_data):{}",
        stored.origin, changed);
  if (!stored.own) return;
  std::vector<data::DataFile> unknown = files_;
  std::erase_if(unknown, [&](const data::DataFile& file) {
    return std::ranges::any_of(stored.files, [&](const data::DataFile& old) {
      return old.path == file.path && old.same_content(file);
    });
  });
  unknown_ = stores_of(unknown);
}

void RunData::begin() {
  std::vector<std::shared_ptr<const data::SummedFile>> own;
  for (size_t i = 0; i < unknown_.size(); ++i)
    if (world_.takes(static_cast<int64_t>(i))) own.push_back(unknown_[i]);
  check_ = std::make_unique<data::StoreCheck>(std::move(own));
}

void RunData::look() const {
  if (check_) check_->look();
}

void RunData::finish(Meeting* meeting) {
  if (!check_) return;
  if (!check_->wait(kWorthTelling))
    log::info("waits until the token stores are compared with their sums");
  if (meeting) {
    while (!check_->wait(kRound)) meeting->pass();
    meeting->finish();
  }
  checkpoint::agree(world_, [this] { check_->finish(); });
  check_.reset();
}

bool RunData::finish_within(std::chrono::milliseconds most) {
  if (!check_) return true;
  const std::chrono::milliseconds least = told_ ? std::chrono::milliseconds(0) : kWorthTelling;
  if (!world_.any(!check_->wait(std::max(most, least)))) {
    finish();
    return true;
  }
  if (most.count() > 0)
    log::warn(
        "no checkpoint: after {:.1f} s more the token stores are still being compared with the "
        "sums they carry, and a run commits nothing before",
        std::chrono::duration<double>(most).count());
  else if (!told_)
    log::warn(
        "no checkpoint yet: the token stores are still being compared with the sums they carry; "
        "the run goes on");
  told_ = true;
  return false;
}

}  // namespace skein::train
