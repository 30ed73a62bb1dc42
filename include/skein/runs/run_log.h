// What a run folder tells of its run (train/run_folder.h), also while the run goes on.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skein/core/strings.h"
#include "skein/runs/curve.h"

namespace skein::runs {

// Whether a folder holds the metrics.jsonl of a run.
bool is_run(const std::string& folder);

class RunLog {
 public:
  static constexpr size_t kMostNumbers = 1000;       // with names of their own, of a run
  static constexpr size_t kLongestLine = 1'000'000;  // bytes

  explicit RunLog(std::string folder);

  // Reads what metrics.jsonl has had added since; all of it again where a start of the run has
  // begun a new file. True where anything has changed. A usage error names the file and the line of
  // what is no JSON object of numbers with its step, of a step before that of the line above, and
  // of more than the two limits say; the next call begins anew. The last line counts once it ends.
  bool read();

  const std::string& folder() const { return folder_; }
  // In the order in which metrics.jsonl has them: "loss", "validation_loss".
  const std::vector<std::pair<std::string, Curve>>& curves() const { return curves_; }
  const Curve* curve(std::string_view name) const;  // null: there is none
  int64_t step() const { return step_; }            // of the last line; -1: there is none
  int64_t lines() const { return lines_; }
  // Whether the last line is still being written, or was cut by the end of a process.
  bool has_open_line() const { return open_line_; }

 private:
  using Record = std::vector<std::pair<std::string, double>>;
  void forget();
  void take_line(std::string_view line);
  void add(const Record& record);

  std::string folder_;
  std::vector<std::pair<std::string, Curve>> curves_;
  std::unordered_map<std::string, size_t, TextHash, std::equal_to<>> places_;  // in curves_
  int64_t step_ = -1, lines_ = 0, read_ = 0;  // read_: bytes of whole lines
  ino_t file_ = 0;
  bool open_line_ = false;
};

// The options that config.ini of a run folder holds; none where it is missing. Usage errors as
// parse_ini (core/options/ini.h) has them.
std::vector<std::pair<std::string, std::string>> options_of_run(const std::string& folder);

// An answer of rollouts.jsonl, as skein ppo leaves it with ppo.save_rollouts.
struct SampledAnswer {
  int64_t step = 0;
  std::string prompt, answer;
  double score = 0, reward = 0;
};
// The last ones, `most` at most; none where there is no such file. Lines that are none are left
// out: the first that is looked at may begin in its middle, and the last one be unfinished.
std::vector<SampledAnswer> last_answers(const std::string& folder, size_t most);

}  // namespace skein::runs
