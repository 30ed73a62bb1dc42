// How fast a run goes and how long it will take.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "skein/train/replica.h"

namespace skein {

struct Speed {
  double flops_per_token = 0;  // model FLOPs, train/flops.h
  double peak_flops = 0;       // of the whole job; 0: unknown
};

class Progress {
 public:
  // first: steps done before this start.
  Progress(int64_t first, int64_t total, int64_t tokens_per_step, const Speed& speed);

  // Call after every step.
  void step_done(int64_t done);
  // "step  120/2000  loss 3.4021  grad_norm 0.81  lr 1.9e-03  5.1k tokens/s  112 GFLOP/s (38% of peak)  ETA 4m10s"
  std::string line(const StepResult& result, double lr) const;
  // Of the last step, for metrics.jsonl.
  std::vector<std::pair<std::string, double>> values(const StepResult& result, double lr) const;
  // "300 steps, 1.2M tokens in 4m10s, 5.1k tokens/s"
  std::string summary() const;

 private:
  using Clock = std::chrono::steady_clock;
  double tokens_per_second() const;

  int64_t first_, done_, total_, tokens_per_step_;
  Speed speed_;
  Clock::time_point start_, last_;
  double step_seconds_ = 0;     // of the last step
  double average_seconds_ = 0;  // of recent steps
};

// 93784.2 as "1d02h", 250 as "4m10s", 7.1 as "7s".
std::string readable_seconds(double seconds);
// 5123.0 as "5.1k", 1.2e12 as "1.2T"; gap stands before the letter: " " where a unit follows.
std::string readable_count(double value, const char* gap = "");

}  // namespace skein
