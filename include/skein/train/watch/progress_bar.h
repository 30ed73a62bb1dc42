// How far a run has come, on a terminal, below what is logged (log::show_status).
#pragma once

#include <cstdint>
#include <string>

namespace skein::train {

// "[=======             ] step 120/320, 38%, ETA 2m54s"; the last once steps were done, at the pace
// of the `seconds` that those after `first` took.
std::string progress_text(const std::string& unit, int64_t first, int64_t done, int64_t total,
                          double seconds);

class ProgressBar {
 public:
  // unit: "step", "iteration". first: done before this start.
  ProgressBar(std::string unit, int64_t first, int64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(int64_t done) const;

 private:
  std::string unit_;
  int64_t first_, total_;
  double start_;  // steady_seconds()
};

}  // namespace skein::train
