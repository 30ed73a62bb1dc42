// The data files of a run: what its checkpoints remember of them, and the comparison of token
// stores with the sums that they carry, which is made once, before the first commit.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/comm/meeting.h"
#include "skein/data/stores/data_file.h"
#include "skein/data/stores/store_check.h"

namespace skein::train {

// What a checkpoint says of a run's data, and what to make of it.
struct StoredData {
  const std::vector<data::DataFile>& files;  // none in checkpoints of earlier versions
  std::string origin;                        // the checkpoint's path
  bool own = false;  // the run's own: stores that it knows were compared with their sums
  bool others_accepted = false;  // checkpoint.other_data
};

class RunData {
 public:
  // Collective with what follows; every rank gives the same files.
  RunData(std::vector<data::DataFile> files, Group& world);

  const std::vector<data::DataFile>& files() const { return files_; }
  // Of a run that goes on from a checkpoint, before begin(). A usage error when a file is another
  // one than it was under the same option and path, with both identities; a warning where that is
  // accepted. A file of the same contents may lie anywhere.
  void go_on(const StoredData& stored);
  // Begins to compare the stores that no checkpoint of the run knows, each on one rank.
  void begin();
  // Throws what is wrong with a store, on the rank that has found it.
  void look() const;
  // Collective: before a commit. Waits for the end of what was begun, and throws the same on all
  // ranks. meeting: where the wait may be interrupted; null: nowhere.
  void finish(Meeting* meeting = nullptr);
  // Collective, before a commit. Waits up to `most` for the comparison (the first time at least
  // 1 s). True: it has ended on all ranks, and a commit may be made; throws as finish(). False: not
  // yet; it warns, but only once where `most` is 0.
  bool finish_within(std::chrono::milliseconds most);

 private:
  Group& world_;
  std::vector<data::DataFile> files_;
  std::vector<std::shared_ptr<const data::SummedFile>> unknown_;  // to be compared
  std::unique_ptr<data::StoreCheck> check_;
  bool told_ = false;
};

}  // namespace skein::train
