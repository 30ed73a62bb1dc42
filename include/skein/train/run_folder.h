// What a run leaves behind, written by rank 0:
//   config.ini        the resolved options of the latest start, with the origin of each
//   metrics.jsonl     one JSON object a step, and one an evaluation
//   tensorboard/      event files
//   profile.json      Chrome trace of the profiled steps, where run.profile asks for some
//   checkpoints/      docs/checkpoint-format.md
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skein/comm/group.h"
#include "skein/core/profile.h"
#include "skein/formats/tensorboard.h"

namespace skein {

class RunFolder {
 public:
  // Touches nothing yet. path "": nothing is ever written.
  RunFolder(std::string path, bool tensorboard) : path_(std::move(path)), tensorboard_(tensorboard) {}

  bool writes() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  // Collective. Makes the folder, writes config.ini and opens metrics.jsonl, without the lines of steps after `step`, which a
  // resumed run makes again. A usage error on every rank when it cannot be made or written.
  void begin(const std::string& config, int64_t step, Group& world);
  // After begin: one line and, for TensorBoard, one scalar each, by rank 0. Failing writes warn once and never end a run.
  void record(int64_t step, const std::vector<std::pair<std::string, double>>& values);
  // Collective. profile.json from the events of every rank; times count from `origin`, this rank's begin of the profile.
  void write_profile(const std::vector<ProfileEvent>& events, int64_t origin, Group& world);

 private:
  std::string path_;
  bool tensorboard_;
  std::ofstream metrics_;
  std::unique_ptr<EventWriter> events_;
};

}  // namespace skein
