// The runs below a folder, at a glance: what their last lines say, without reading the rest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "skein/core/values.h"

namespace skein::runs {

struct RunGlance {
  std::string name;  // its path below the folder; "." for the folder itself
  std::string folder;
  int64_t step = -1;   // of the last line; -1: there is none
  NamedValues last;    // the latest value of each number that the last lines have
  double changed = 0;  // when its metrics.jsonl was written, seconds of the epoch
};

class RunList {
 public:
  static constexpr int kDeepest = 6;         // levels of folders that are looked into
  static constexpr size_t kMostRuns = 5000;  // and folders that are looked into: ten times as many

  // A usage error where `folder` is none.
  explicit RunList(std::string folder);
  // Looks again; the newest runs come first. Symbolic links to folders are not followed, and what
  // cannot be looked into holds no run.
  const std::vector<RunGlance>& look();
  // Whether there were more runs or folders than the limits say.
  bool cut() const { return cut_; }
  const RunGlance* find(const std::string& name) const;  // null: no run is called so

 private:
  void add(const std::string& folder);

  std::string folder_;
  std::vector<RunGlance> runs_;
  std::map<std::string, std::pair<struct stat, RunGlance>> seen_;  // by folder
  bool cut_ = false;
};

}  // namespace skein::runs
