// What a run leaves behind, written by rank 0:
//   config.ini        the resolved options of the latest start, with the origin of each
//   metrics.jsonl     one JSON object a step, and one an evaluation
//   run.log           what the log said of every start, with dates
//   tensorboard/      event files: train/ and validation/, whose numbers have the same tags, as
//                     loss/perplexity, so that TensorBoard draws them on one axis
//   profile.json      Chrome trace of the profiled steps, where run.profile asks for some
//   rebuilt.png       what a model makes of hidden patches (tasks/image_task.h)
//   checkpoints/      docs/checkpoint-format.md
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skein/checkpoint/appended_file.h"
#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/claim.h"
#include "skein/comm/group.h"
#include "skein/core/log_file.h"
#include "skein/core/profile.h"
#include "skein/core/values.h"
#include "skein/formats/tensorboard.h"
#include "skein/train/config.h"

namespace skein::train {

class RunFolder {
 public:
  // Touches nothing yet. path "": nothing is ever written.
  RunFolder(std::string path, bool tensorboard)
      : path_(std::move(path)), tensorboard_(tensorboard) {}

  bool writes() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  bool holds(const checkpoint::CheckpointInfo& info) const {
    return writes() && info.path.starts_with(checkpoints() + "/");
  }
  // Collective. Claims the folder (RunClaim, checkpoint/claim.h), so that no other process changes
  // it. To be called before anything in it is read. Null for path "". A claim that storage keeps
  // for longer than parallel.timeout, and what it may wait for an older start, ends the job.
  static std::unique_ptr<checkpoint::RunClaim> claim(const RunConfig& run, double timeout,
                                                     Group& world);
  // Collective. Makes the folder, writes config.ini and opens metrics.jsonl, without the lines of
  // steps after `step`, which a resumed run makes again. When it cannot be made, read or written an
  // error on every rank: of usage where something else stands there, else a failure with what to
  // do.
  void begin(const std::string& config, int64_t step, Group& world);
  // Collective, after begin: takes the lines of steps after `step` away again.
  void cut(int64_t step, Group& world);
  // After begin: one line and, for TensorBoard, one scalar each, by rank 0. A line that ended the
  // file already, such as the last evaluation of a finished run, is not added again. A line that
  // cannot be written is kept for later, with one warning.
  void record(int64_t step, const NamedValues& values);
  // Makes what was recorded outlive a loss of power. To be called before a checkpoint says that
  // those steps are done, which none may where this fails: lines that were kept cannot be written.
  // That they are not durable is only warned of. claim: as AppendedFile::sync has it.
  void sync(const checkpoint::RunClaim* claim);
  // Collective. Writes profile.json from the events of every rank. Times count from `origin`, the
  // time at which this rank's profile began. what: names what was profiled, such as "3 steps".
  void write_profile(const std::vector<ProfileEvent>& events, int64_t origin,
                     const std::string& what, Group& world);

 private:
  void open(const std::string& config, int64_t step);
  void write_lines();
  void begin_events(const std::string& config, int64_t step);
  formats::EventWriter& events_of(bool validation);
  void record_event(int64_t step, const std::string& name, double value);

  std::string path_;
  bool tensorboard_;
  checkpoint::AppendedFile metrics_;
  std::string unwritten_;  // lines that follow those of metrics_
  bool told_unwritten_ = false;
  std::vector<std::string> last_lines_;              // of metrics.jsonl as begin() left it
  int64_t events_from_ = 0;                          // the first step of this session
  std::unique_ptr<formats::EventWriter> events_[2];  // of training and of validation
  std::unique_ptr<log::LogFile> log_;
};

// Collective. The newest good checkpoint of the run in run.dir, which it goes on from; nullopt
// where it begins: its folder holds none, or none that can be used and run.restart is given, else
// that is a usage error. What cannot be read is a failure whatever was given. Who trains has
// claimed the run; who only looks ahead has not, and may meet a checkpoint that is being deleted.
std::optional<checkpoint::CheckpointInfo> find_own_checkpoint(const RunConfig& run, Group& world);
// Collective. Of the steps that `every` divides, the newest good one; nullopt where there is none.
std::optional<checkpoint::CheckpointInfo> find_own_checkpoint_of(int64_t every,
                                                                 const RunConfig& run,
                                                                 Group& world);

}  // namespace skein::train
